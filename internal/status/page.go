package status

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

var (
	//go:embed templates/*.html
	templateFiles embed.FS
	//go:embed templates/page.css
	styleText string
	//go:embed templates/page.js
	scriptText string
)

// maxCards is how many targets are shown as cards. More are rows of a table, in which each name is a link to a card.
const maxCards = 8

// templates returns the templates of all pages, by the names of their files. They are parsed when a page is first asked
// for: most commands serve none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(templateFuncs()).ParseFS(templateFiles, "templates/*.html"))
})

// templateFuncs returns the functions that templates call.
func templateFuncs() template.FuncMap {
	return template.FuncMap{
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
		"script":     func() template.JS { return template.JS(scriptText) }, //nolint:gosec // our own file
		"seconds":    func(v *float64) string { return latency(numberOf(v)) },
		"share":      format.Percent,
		"short":      format.Short,
		"style":      func() template.CSS { return template.CSS(styleText) }, //nolint:gosec // our own file
		"words":      func(name string) string { return strings.ReplaceAll(name, "_", " ") },
	}
}

// pagePolicy is a Content-Security-Policy that lets a browser load only the page itself and its refreshed versions. It
// names style and script by their hashes and not by a nonce: a refreshed page must be allowed to have the same style as
// the one before.
var pagePolicy = strings.Join([]string{
	"default-src 'none'",
	"connect-src 'self'",
	"img-src data:",
	"base-uri 'none'",
	"form-action 'self'",
	"frame-ancestors 'none'",
	"style-src " + hashOf(styleText),
	"script-src " + hashOf(scriptText),
}, "; ")

// hashOf returns the source expression of a policy for a text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// render answers with a status and a page, or with the error of its template.
func render(w http.ResponseWriter, status int, name string, data any) {
	var text bytes.Buffer
	err := templates().ExecuteTemplate(&text, name, data)
	if err != nil {
		http.Error(w, "render page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}

// A page is what the page of targets shows.
type page struct {
	Version   string
	Vantage   string // empty if nobody said where the prober stands
	Simulated bool   // all servers are
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
	Fleet    []fleetRow
	Columns  []column
	Span     string // of the results in the table: "hour", or the shortest of a target's
}

// A stateCount is how many targets are in a state.
type stateCount struct {
	State state
	N     int
}

// A section is one group of several targets, or several targets without a group.
type section struct {
	Group string // empty for targets without a group
	Cards []card
}

// A card is a target with its plots, nil without a result.
type card struct {
	*view
	Bars  *barChart
	Strip *strip // of the last result
}

// A fleetRow is a target in the table of many targets.
type fleetRow struct {
	*view
	Spark spark
}

// IsLarge reports whether there are so many targets that a reader needs to search.
func (p *page) IsLarge() bool { return p.All > maxCards }

// HasColumn reports whether the table has a column.
func (p *page) HasColumn(key string) bool {
	return slices.ContainsFunc(p.Columns, func(c column) bool { return c.Key == key })
}

// LabelNames returns the names of the labels that are columns of the table.
func (p *page) LabelNames() (names []string) {
	for _, c := range p.Columns {
		name, isLabel := strings.CutPrefix(c.Key, "label:")
		if isLabel {
			names = append(names, name)
		}
	}
	return names
}

// servePage serves the page: a card for each target or, if there are many, a row.
func (b *Board) servePage(w http.ResponseWriter, r *http.Request) {
	render(w, http.StatusOK, "page.html", b.page(selectionOf(r.URL.Query())))
}

// page returns the page with a selection of the targets.
func (b *Board) page(s selection) *page {
	views := b.views()
	p := &page{
		Version: b.version, Vantage: b.vantage, Simulated: b.Simulated, Started: b.started,
		Ready: b.ready.Load(), Rejected: b.rejected.Load(), Selection: s, All: len(views),
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
		scale := scalesOf([]*view{v})
		p.Fleet = append(p.Fleet, fleetRow{view: v, Spark: newSpark(v.history.newest(maxBars), scale.Bars)})
	}
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

// sections returns one section for each group of several targets, which get the same scales. Targets without a group
// that follow each other share a section.
func sections(views []*view) []section {
	groups := map[string][]*view{}
	for _, v := range views {
		name := cmp.Or(v.Target.Group, v.Target.Name)
		groups[name] = append(groups[name], v)
	}
	var list []section
	for _, v := range views {
		group := groups[cmp.Or(v.Target.Group, v.Target.Name)]
		if v != group[0] {
			continue // its section has it
		}
		var cards []card
		scale := scalesOf(group)
		for _, v := range group {
			bars := newBarChart(v.history.newest(maxBars), scale.Bars)
			cards = append(cards, card{view: v, Bars: bars, Strip: newStrip(v.Last, scale.Strip)})
		}
		last := len(list) - 1
		switch {
		case len(group) > 1:
			list = append(list, section{Group: v.Target.Group, Cards: cards})
		case last >= 0 && list[last].Group == "":
			list[last].Cards = append(list[last].Cards, cards...)
		default:
			list = append(list, section{Cards: cards})
		}
	}
	return list
}

// clock writes a time of the last day as "12:30:33", and an earlier one with its date. Both are in UTC.
func clock(t time.Time) string {
	if time.Since(t) < day {
		return t.UTC().Format("15:04:05")
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// latency writes a latency, or a dash for NaN.
func latency(v stats.Number) string {
	if math.IsNaN(float64(v)) {
		return "–"
	}
	return format.Seconds(float64(v))
}
