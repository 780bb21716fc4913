package status

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

//go:embed page.html
var pageText string

var (
	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"age":        func(t time.Time) string { return format.Elapsed(time.Since(t).Seconds()) },
		"attainment": format.Attainment,
		"by":         signedDifference,
		"clock":      clock,
		"count":      format.Count,
		"elapsed":    format.Elapsed,
		"goal":       format.Goal,
		"grouped":    format.Grouped,
		"half":       func(v float64) float64 { return v / 2 },
		"latency":    latency,
		"length":     func(p report.Phase) string { return format.Seconds(p.To - p.From) },
		"letter":     func(o probe.Outcome) string { return letters[o] },
		"phases":     report.Phases,
		"place":      report.LongestGapPlace,
		"seconds":    seconds,
		"short":      format.Short,
	}).Parse(pageText))
	pagePolicy = policy(pageText)
)

// policy returns a Content-Security-Policy that lets a browser load only the page itself and its refreshed versions. It
// names style and script by their hashes and not by a nonce: a refreshed page must be allowed to have the same style as
// the one before. Neither of them has an action of the template, so their text here is that of the answer.
func policy(text string) string {
	return strings.Join([]string{
		"default-src 'none'",
		"connect-src 'self'",
		"img-src data:",
		"base-uri 'none'",
		"form-action 'self'",
		"frame-ancestors 'none'",
		"style-src " + hashOf(text, "<style>", "</style>"),
		"script-src " + hashOf(text, "<script>", "</script>"),
	}, "; ")
}

// hashOf returns the source expression of a policy for the text between two tags.
func hashOf(text, open, end string) string {
	_, text, _ = strings.Cut(text, open)
	text, _, _ = strings.Cut(text, end)
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// A section is one group of several targets, or several targets without a group.
type section struct {
	Group string // empty for targets without a group
	Cards []*view
}

// A page is what the page shows.
type page struct {
	Version   string
	Vantage   string // empty if nobody said where the prober stands
	Started   time.Time
	Ready     bool
	Rejected  *Rejection // nil if the configuration is valid
	Selection selection
	Counts    []stateCount // of the targets that are selected, whatever their state
	All       int          // targets
	Shown     int          // those that are selected
	Choices   []choice     // empty if there are few targets
	HasBars   bool         // a card has a result

	// A few targets are cards, more are a table.
	Sections []section
	Fleet    []*view
	Columns  []column
	Span     string // of the results in the table: "hour", or the shortest of a target's
}

// A stateCount is how many targets are in a state.
type stateCount struct {
	State state
	N     int
}

// IsLarge reports whether there are so many targets that a reader needs to search.
func (p *page) IsLarge() bool { return p.All > maxCards }

// HasGroups reports whether the table has a column of groups.
func (p *page) HasGroups() bool {
	return slices.ContainsFunc(p.Columns, func(c column) bool { return c.Key == "group" })
}

// LabelNames returns the names of the labels that are columns of the table.
func (p *page) LabelNames() []string { return labelNames(p.Fleet) }

// Latencies returns the latencies of a target that are columns of the table.
func (p *page) Latencies(v *view) []metric {
	return slices.DeleteFunc(v.Metrics(), func(m metric) bool {
		isColumn := slices.ContainsFunc(p.Columns, func(c column) bool { return c.Key == m.Key })
		return !isColumn || m.Key == "e2el" // which is drawn
	})
}

// servePage serves the page: a card for each target or, if there are many, a row.
func (b *Board) servePage(w http.ResponseWriter, r *http.Request) {
	render(w, http.StatusOK, pageTemplate, b.page(selectionOf(r.URL.Query())))
}

// page returns the page with a selection of the targets.
func (b *Board) page(s selection) *page {
	views := b.views()
	p := &page{
		Version: b.version, Vantage: b.vantage, Started: b.started, Ready: b.ready.Load(), Rejected: b.rejected.Load(),
		Selection: s, All: len(views),
	}
	if p.IsLarge() {
		p.Choices = s.choices(views)
	}
	columns := columnsOf(views)
	inAnyState := s
	inAnyState.State = ""
	p.Counts = countStates(inAnyState.choose(slices.Clone(views), columns))
	views = s.choose(views, columns)
	p.Shown = len(views)
	if len(views) <= maxCards {
		p.Sections = sections(views)
		p.HasBars = slices.ContainsFunc(views, func(v *view) bool { return v.Last != nil })
		return p
	}
	for _, v := range views {
		v.Scales = scalesOf([]*view{v})
	}
	p.Fleet = views
	p.Columns = columnsOf(views)
	p.Span = slices.MinFunc(views, func(a, b *view) int { return cmp.Compare(a.Window, b.Window) }).Span()
	return p
}

// countStates returns how many targets are in each state that one of them is in, the most urgent first.
func countStates(views []*view) (list []stateCount) {
	counts := map[state]int{}
	for _, v := range views {
		counts[v.State]++
	}
	for _, s := range urgency {
		if counts[s] > 0 {
			list = append(list, stateCount{s, counts[s]})
		}
	}
	return list
}

// render answers with a status and a page, or with the error of its template.
func render(w http.ResponseWriter, status int, page *template.Template, data any) {
	var text bytes.Buffer
	err := page.Execute(&text, data)
	if err != nil {
		http.Error(w, "render page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}

// sections returns one section for each group of several targets, which get the same scales. Targets without a group
// that follow each other share a section.
func sections(views []*view) []section {
	groups := map[string][]*view{}
	for _, v := range views {
		name := cmp.Or(v.Group, v.Name)
		groups[name] = append(groups[name], v)
	}
	var list []section
	for _, v := range views {
		group := groups[cmp.Or(v.Group, v.Name)]
		v.Scales = scalesOf(group)
		last := len(list) - 1
		switch {
		case v != group[0]:
		case len(group) > 1:
			list = append(list, section{v.Group, group})
		case last >= 0 && list[last].Group == "":
			list[last].Cards = append(list[last].Cards, v)
		default:
			list = append(list, section{Cards: group})
		}
	}
	return list
}

// A metric is one row of the table of quantiles of a card.
type metric struct {
	Key, Name, Long string
	Last            stats.Number // of the last result; NaN if it has none
	quantiles
}

// Metrics returns the rows of the table of quantiles. The table of targets shows the first three.
func (v *view) Metrics() []metric {
	last := cmp.Or(v.Last, &entry{})
	return []metric{
		{"ttft", "TTFT", "time to first token", numberOf(last.TTFT), v.Quantiles.TTFT},
		{"tpot", "TPOT", "time per output token", numberOf(last.TPOT), v.Quantiles.TPOT},
		{"itl", "ITL", "inter-token latency: every token counts once; last is the median of the last probe",
			median(last.itls()), v.Quantiles.ITL},
		{"e2el", "E2EL", "end-to-end latency", numberOf(last.E2EL), v.Quantiles.E2EL},
	}
}

// numberOf returns a value as a number; NaN if it is absent.
func numberOf(v *float64) stats.Number {
	if v == nil {
		return stats.Number(math.NaN())
	}
	return stats.Number(*v)
}

// Remarks returns the target's notes, and which results are left out of the numbers of the last hour.
func (v *view) Remarks() []string {
	notes := slices.Clone(v.Notes)
	for _, text := range v.summary.Excluded {
		notes = append(notes, fmt.Sprintf("last %s: %s", v.Span(), text))
	}
	return notes
}

// Refused returns how many results of the window were refused.
func (v *view) Refused() int { return v.summary.Refused() }

// RefusalsAreBad reports whether the objectives of the target count refused results.
func (v *view) RefusalsAreBad() bool { return v.history.target.RefusalsAreBad() }

// Failures returns the failed results in memory, the newest first.
func (v *view) Failures() []*entry {
	list := slices.DeleteFunc(v.history.kept(), (*entry).OK)
	slices.Reverse(list)
	return list
}

// Span returns the length of the window in words: "hour", or less.
func (v *view) Span() string {
	if v.Window < window.Seconds() {
		return format.Elapsed(v.Window)
	}
	return "hour"
}

// clock writes a time of the last day as "12:30:33", and an earlier one with its date. Both are in UTC.
func clock(t time.Time) string {
	if time.Since(t) < day {
		return t.UTC().Format("15:04:05")
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// seconds writes a latency of a result, or a dash if it has none.
func seconds(v *float64) string { return latency(numberOf(v)) }

// latency writes a latency, or a dash for NaN.
func latency(v stats.Number) string {
	if math.IsNaN(float64(v)) {
		return "–"
	}
	return format.Seconds(float64(v))
}
