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

// How many targets are shown as cards, and with how many prompts altogether. More are rows of a table, in which each
// name is a link to a card. What a card says of a prompt is 20 kB, and a browser fetches it every two seconds.
const (
	maxCards       = 8
	maxCardPrompts = 32
)

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
	Sources   *[]FailedSource
	Selection selection
	Counts    []stateCount // of the targets that are selected, whatever their state
	All       int          // targets
	Shown     int          // those that are selected
	Choices   []choice     // empty if there are few targets
	HasBars   bool         // a card has a result

	// A few targets are cards, more are a table.
	Sections []section
	Fleet    []*targetView
	Columns  []column
	Span     string // of the results in the table: "hour", or the shortest of a prompt's
}

// A stateCount is how many targets are in a state.
type stateCount struct {
	State state
	N     int
}

// A section is one group of several targets, or several targets without a group.
type section struct {
	Group string // empty for targets without a group
	Cards []*targetView
}

// A fleetRow is a prompt in the table of many targets.
type fleetRow struct {
	Page   *page
	Prompt *view
}

// Row returns the row of a prompt.
func (p *page) Row(v *view) fleetRow { return fleetRow{p, v} }

// LatencyColumns returns how many columns have latencies.
func (p *page) LatencyColumns() int {
	if p.HasColumn("tpot") {
		return 4
	}
	return 3
}

// AttributeColumns returns how many columns have the group and the labels.
func (p *page) AttributeColumns() int {
	n := len(p.LabelNames())
	if p.HasColumn("group") {
		n++
	}
	return n
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
	targets := b.targets()
	p := &page{
		Version: b.version, Vantage: b.vantage, Simulated: b.Simulated, Started: b.started,
		Ready: b.ready.Load(), Rejected: b.rejected.Load(), Sources: b.sources.Load(), Selection: s, All: len(targets),
	}
	if p.IsLarge() {
		p.Choices = s.choices(targets)
	}
	columns := columnsOf(targets)
	targets = s.narrow(targets, b.links)
	inAnyState := s
	inAnyState.State = ""
	p.Counts = countStates(inAnyState.choose(slices.Clone(targets), columns))
	targets = s.choose(targets, columns)
	p.Shown = len(targets)
	prompts := 0
	for _, t := range targets {
		prompts += len(t.Prompts)
	}
	if len(targets) <= maxCards && prompts <= maxCardPrompts {
		for _, t := range targets {
			for _, v := range t.Prompts {
				v.IsOpen = len(targets) == 1
				if len(t.Prompts) > 1 {
					v.shared = t.CommonNotes()
				}
			}
		}
		p.Sections = sections(targets)
		p.HasBars = slices.ContainsFunc(targets, func(t *targetView) bool { return t.Last != nil })
		return p
	}
	p.Fleet = targets
	p.Columns = columnsOf(targets)
	shortest := window.Seconds()
	for _, t := range targets {
		for _, v := range t.Prompts {
			v.scales = scalesOf([]*view{v})
			shortest = min(shortest, v.Window)
		}
	}
	p.Span = spanWords(seconds(shortest))
	return p
}

// countStates returns how many targets are in each state that one of them is in, the most urgent first.
func countStates(targets []*targetView) (list []stateCount) {
	counts := map[state]int{}
	for _, t := range targets {
		counts[t.State]++
	}
	for _, s := range urgency {
		if counts[s] > 0 {
			list = append(list, stateCount{s, counts[s]})
		}
	}
	return list
}

// sections returns one section for each group of several targets. Targets without a group that follow each other share
// a section. The plots of a prompt get the same scales in all targets of a group.
func sections(targets []*targetView) []section {
	groups := map[string][]*targetView{}
	for _, t := range targets {
		name := cmp.Or(t.Target.Group, t.Target.Name)
		groups[name] = append(groups[name], t)
	}
	var list []section
	for _, t := range targets {
		group := groups[cmp.Or(t.Target.Group, t.Target.Name)]
		if t != group[0] {
			continue // its section has it
		}
		setScales(group)
		last := len(list) - 1
		switch {
		case len(group) > 1:
			list = append(list, section{Group: t.Target.Group, Cards: group})
		case last >= 0 && list[last].Group == "":
			list[last].Cards = append(list[last].Cards, t)
		default:
			list = append(list, section{Cards: group})
		}
	}
	return list
}

// setScales sets the scales of the plots of a group: prompts of the same name are compared.
func setScales(group []*targetView) {
	alike := map[string][]*view{}
	for _, t := range group {
		for _, p := range t.Prompts {
			alike[p.Target.Prompt] = append(alike[p.Target.Prompt], p)
		}
	}
	for _, prompts := range alike {
		scale := scalesOf(prompts)
		for _, p := range prompts {
			p.scales = scale
		}
	}
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
