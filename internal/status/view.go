package status

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/usage"
)

// recentSuccess is the age up to which a success shows that a failing target does not miss all of its probes.
const recentSuccess = 10 * time.Minute

// A standing is how a prompt, or a target with all its prompts, is at one moment.
type standing struct {
	State      state
	Since      time.Time // when it got into its state
	SinceStart bool      // it was so in the first probe, and may have been so before
	Runbook    string    // name of the alert about its state; empty if nothing is wrong

	Last     *entry         // the latest result; nil if there is none
	LastOK   time.Time      // the latest success; zero without any
	InFlight int            // probes
	Oldest   float64        // age of the oldest probe in flight; 0 without any
	Skipped  map[string]int // slots without a probe, by reason

	PageURL      string // on this page, as people reach it; empty if unknown
	DashboardURL string // empty if unknown
}

// RunbookURL returns the address of the runbook about the state; empty if nothing is wrong.
func (s *standing) RunbookURL() string {
	if s.Runbook == "" {
		return ""
	}
	return runbooks + s.Runbook + ".md"
}

// A view is one prompt of a target at one moment: what the page and /api/v1/targets show of it. Durations are seconds.
// Counts and quantiles are those of the results in the window.
type view struct {
	Target   probe.Description
	Problems usage.Problems // of the settings; empty unless the target is rejected
	standing

	// Window is the length of the window: an hour, or less if the target has not been watched for an hour, or if there is
	// no room for the results of an hour.
	Window     float64
	Results    int // in the window, as are all below
	OKResults  int
	Refused    int
	Outcomes   map[probe.Outcome]int // only those that happened
	Latencies  allQuantiles
	Excluded   []string // sentences on results that are left out of Latencies
	Objectives []objective

	IsOpen bool // the page shows it unfolded at first, if it is one of several prompts

	now      time.Time
	history  history
	oldestAt time.Time // start of the oldest probe in flight; zero without one
	scales   scales    // of its plots, which the page sets
	shared   []string  // its notes that all prompts of its target have, and which the page shows with those
}

// allQuantiles are the quantiles of each latency.
type allQuantiles struct{ TTFT, TPOT, ITL, E2EL quantiles }

// quantiles are those of N values, in seconds; NaN if there is no value.
type quantiles struct {
	N        int
	P50, P95 stats.Number
}

// quantilesOf returns the quantiles of d, rounded to nanoseconds.
func quantilesOf(d stats.Distribution) quantiles {
	at := func(share stats.Share) stats.Number { return stats.Number(math.Round(float64(d.At(share))*1e9) / 1e9) }
	return quantiles{N: d.Count, P50: at(stats.P50), P95: at(stats.P95)}
}

// views returns all prompts of all targets as they are now.
func (b *Board) views() []*view {
	now := time.Now()
	list := []*view{}
	for _, h := range b.copies() {
		list = append(list, newView(h, now, b.links))
	}
	return list
}

// newView returns a prompt of a target as it is now.
func newView(h history, now time.Time, links Links) *view {
	v := &view{
		Target:   h.target,
		Problems: h.problems,
		standing: standing{Last: h.last(), LastOK: h.condition.lastOK, Skipped: h.skipped},
		Window:   min(window, now.Sub(h.added)).Seconds(),
		now:      now,
		history:  h,
	}
	if h.target.InFlight != nil {
		v.InFlight, v.oldestAt = h.target.InFlight()
	}
	if v.InFlight > 0 {
		v.Oldest = max(0, now.Sub(v.oldestAt)).Seconds()
	}
	if h.dropped && h.ring[0].At.After(now.Add(-window)) {
		v.Window = now.Sub(h.ring[0].At).Seconds()
	}
	s := h.summary(h.since(now.Add(-window)))
	v.Results, v.OKResults, v.Refused = s.Sent(), s.Succeeded(), s.Refused()
	v.Outcomes = s.Outcomes
	v.Latencies = allQuantiles{
		TTFT: quantilesOf(s.TTFT), TPOT: quantilesOf(s.TPOT), ITL: quantilesOf(s.ITL), E2EL: quantilesOf(s.E2EL),
	}
	v.Excluded = s.Excluded
	v.Objectives = h.objectives(now)
	v.setState()
	v.PageURL = links.page(h.selection())
	v.DashboardURL = links.dashboard(h.target.Name, h.target.Prompt)
	return v
}

// selection returns what a reader selects to see the prompt and no other one.
func (h *history) selection() selection {
	s := selection{Target: h.target.Name}
	if h.several {
		s.Prompt = h.target.Prompt
	}
	return s
}

// title returns the name of the target, and of the prompt if the target has several.
func (h *history) title() string {
	if h.several {
		return h.target.Name + " · " + h.target.Prompt
	}
	return h.target.Name
}

// Title returns the name of the target, and of the prompt if the target has several.
func (v *view) Title() string { return v.history.title() }

// Link returns the address of the page that shows nothing but the prompt, relative to the page.
func (v *view) Link() string { return v.history.selection().Link() }

// Chip returns the state in words, with the outcome of a failure.
func (v *view) Chip() string {
	if v.State == stateFailing {
		return v.State.Words() + ": " + string(v.Last.Outcome)
	}
	return v.State.Words()
}

// InState returns what is in its state since a time, in words.
func (v *view) InState() string { return v.State.Words() }

// Workload returns what kind of prompt it is, with its name if that says something else.
func (v *view) Workload() string {
	kind, name := v.Target.PromptKind, v.Target.Prompt
	if kind == "" || kind == name {
		return name
	}
	if v.history.several { // its name is in the title
		return kind
	}
	return name + ": " + kind
}

// Bars returns the last results as bars; nil if there are none.
func (v *view) Bars() *barChart { return newBarChart(v.history.newest(maxBars), v.scales.Bars) }

// Strip returns the last result on its time axis; nil if there is none.
func (v *view) Strip() *strip { return newStrip(v.Last, v.scales.Strip) }

// Spark returns the E2EL of the last results as a line.
func (v *view) Spark() spark { return newSpark(v.history.newest(maxBars), v.scales.Bars) }

// A cachedSummary is the summary of some consecutive results of a ring, which the first of them and their number
// identify. It saves sorting the same results for every reader.
type cachedSummary struct {
	first   *entry
	n       int
	summary report.Summary
}

// summary returns the summary of consecutive results of the ring, from the cache if it is there.
func (h *history) summary(entries []*entry) report.Summary {
	if len(entries) == 0 {
		return report.Summarize(nil)
	}
	cached := h.cache.Load()
	if cached != nil && cached.first == entries[0] && cached.n == len(entries) {
		return cached.summary
	}
	samples := make([]report.Sample, 0, len(entries))
	for _, e := range entries {
		s := e.sample
		s.TokenITLs = e.ResultJSON().ITL
		samples = append(samples, s)
	}
	summary := report.Summarize(samples)
	summary.Requests = nil // nobody reads these, and they are as many as the samples
	h.cache.Store(&cachedSummary{first: entries[0], n: len(entries), summary: summary})
	return summary
}

// Span returns the length of the window in words: "hour", or less.
func (v *view) Span() string { return spanWords(seconds(v.Window)) }

// Why says what is wrong with it, in sentences without full stops; nil if nothing is wrong.
func (v *view) Why() (list []string) {
	switch v.State {
	case stateRejected: // it is not probed, so its results are not of now
		for _, p := range v.Problems {
			list = append(list, p.Error())
		}
		return list
	case stateDisabled:
		return nil
	case stateHanging:
		list = append(list, "a probe has been in flight for "+format.Elapsed(v.Oldest))
	}
	if v.Last != nil && v.Last.Error != nil {
		list = append(list, *v.Last.Error)
	}
	return append(list, v.Shortcomings()...)
}

// Shortcomings says which objectives are missed and what is slow. If no probe has succeeded for a while it is nil: all
// objectives are missed, of course.
func (v *view) Shortcomings() (list []string) {
	isOut := v.IsDown() && v.now.Sub(v.LastOK) > recentSuccess
	if isOut || v.State == stateDisabled {
		return nil
	}
	for _, o := range v.Objectives {
		if o.Missed {
			list = append(list, o.shortfall(v.Span(), v.Last, v.now))
		}
	}
	for _, s := range v.history.condition.slowdowns {
		list = append(list, s.sentence())
	}
	return list
}

// IsDown reports whether probes do not succeed now, so that the last success is of interest.
func (v *view) IsDown() bool {
	return v.State == stateFailing || v.State == stateHanging || v.State == stateRejected
}

// Remarks returns the notes that are shown with the prompt, and which results are left out of the latencies.
func (v *view) Remarks() []string {
	notes := slices.DeleteFunc(slices.Clone(v.Target.Notes), func(note string) bool {
		return slices.Contains(v.shared, note)
	})
	for _, text := range v.Excluded {
		notes = append(notes, fmt.Sprintf("last %s: %s", v.Span(), text))
	}
	return notes
}

// Worst returns the objective that has spent the largest share of its error budget; nil if none was judged, or if the
// target is disabled.
func (v *view) Worst() *objective {
	if v.Target.Disabled {
		return nil
	}
	var worst *objective
	for i := range v.Objectives {
		o := &v.Objectives[i]
		if o.Total() > 0 && (worst == nil || o.spent() > worst.spent()) {
			worst = o
		}
	}
	return worst
}

// A latencyRow is one row of the table of latencies of a card.
type latencyRow struct {
	Key, Name, Long string
	Last            stats.Number // of the last result; NaN if it has none
	WhyNot          string       // why the last result has none although it succeeded; may be empty
	quantiles
}

// LatencyRows returns the rows of the table of latencies.
func (v *view) LatencyRows() []latencyRow {
	ttft := latencyRow{Key: "ttft", Name: "TTFT", Long: "time to first token", quantiles: v.Latencies.TTFT}
	tpot := latencyRow{Key: "tpot", Name: "TPOT", Long: "time per output token", quantiles: v.Latencies.TPOT}
	itl := latencyRow{
		Key: "itl", Name: "ITL", quantiles: v.Latencies.ITL,
		Long: "inter-token latency: every token counts once; last is the median of the last probe",
	}
	e2el := latencyRow{Key: "e2el", Name: "E2EL", Long: "end-to-end latency", quantiles: v.Latencies.E2EL}

	last := cmp.Or(v.Last, &entry{}).ResultJSON()
	ttft.Last, tpot.Last, e2el.Last = numberOf(last.TTFT), numberOf(last.TPOT), numberOf(last.E2EL)
	itl.Last = stats.Number(stats.Median(last.ITL))
	if last.Outcome == probe.OK && last.Frames > 0 {
		warnings := strings.Join(last.Warnings, "; ") // say which value they cost
		ttft.WhyNot, e2el.WhyNot = warnings, warnings
		tpot.WhyNot, itl.WhyNot = report.WhyNoTPOT(last), report.WhyNoITL(last)
	}
	list := []latencyRow{ttft, tpot, itl, e2el}
	for i := range list {
		if !math.IsNaN(float64(list[i].Last)) {
			list[i].WhyNot = ""
		}
	}
	return list
}

// numberOf returns a value as a number; NaN if it is absent.
func numberOf(v *float64) stats.Number {
	if v == nil {
		return stats.Number(math.NaN())
	}
	return stats.Number(*v)
}

// Failures returns the failed results in memory, the newest first.
func (v *view) Failures() []*entry {
	list := slices.DeleteFunc(v.history.results(), (*entry).OK)
	slices.Reverse(list)
	return list
}

// A slowRow is the slowest results by one quantity.
type slowRow struct {
	quantity
	Slowest [][]*entry // one list for each column
}

// A slowTable is the table of the slowest results. Its columns are the spans that end now, in words: the last hour and
// the last day, or as much of them as was watched.
type slowTable struct {
	Columns []string
	Rows    []slowRow // without the quantities that no result has
}

// Slowest returns the table of the slowest results.
func (v *view) Slowest() (t slowTable) {
	watched := v.now.Sub(v.history.added)
	columns := []time.Duration{window, day}
	switch {
	case watched <= window:
		columns = []time.Duration{watched}
	case watched < day:
		columns = []time.Duration{window, watched}
	}
	for _, length := range columns {
		t.Columns = append(t.Columns, "last "+spanWords(length))
	}
	list := v.history.results()
	for _, q := range slowness {
		row := slowRow{quantity: q}
		isEmpty := true
		for _, length := range columns {
			slowest := q.slowest(list, v.now.Add(-length))
			row.Slowest = append(row.Slowest, slowest)
			isEmpty = isEmpty && len(slowest) == 0
		}
		if !isEmpty {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// spanWords returns the length of a time that ends now, in words that follow "the last".
func spanWords(length time.Duration) string {
	switch length {
	case window:
		return "hour"
	case day:
		return "day"
	}
	return format.Elapsed(length.Seconds())
}

// Links are the addresses of which the page makes links. They do not end with a slash, and are empty if unknown.
type Links struct {
	External string // of the page itself, as people reach it
	Grafana  string
}

// page returns the absolute address of the page with a selection; empty if it is not known.
func (l Links) page(s selection) string {
	if l.External == "" {
		return ""
	}
	return l.External + "/" + s.Link()
}

// dashboard returns the address of the dashboard of a prompt of a target, or of all if prompt is empty; empty if it is
// not known.
func (l Links) dashboard(target, prompt string) string {
	if l.Grafana == "" {
		return ""
	}
	variables := url.Values{"var-target": {target}}
	if prompt != "" {
		variables.Set("var-prompt", prompt)
	}
	return l.Grafana + "/d/prober-target?" + variables.Encode()
}

// runbooks is where the runbooks of the alerts are.
const runbooks = "https://github.com/llm-prober/prober/blob/main/alerts/runbooks/"
