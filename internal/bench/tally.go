package bench

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// A tally collects the results of one step, shows them while it runs (see progress.go), and sums them up when it has
// ended. It is the step's [probe.Recorder].
type tally struct {
	run      *run
	job      *engine.Job
	load     Load
	began    time.Time      // when the step began
	exporter probe.Recorder // gets each result as well; nil: nothing is exported

	mu        sync.Mutex    // guards all below
	members   []memberTally // in the order of the job's targets
	asked     []int         // the members that are asked now
	partBegan time.Time     // since when
}

// A memberTally is the results of one member of a group in one step.
type memberTally struct {
	results *report.Step
	failed  int // requests, canceled ones included
	skipped map[probe.Skip]int
}

// newTally returns an empty tally of a step.
func newTally(j *engine.Job, load Load, r *run) *tally {
	t := &tally{run: r, job: j, load: load, began: time.Now()}
	for range j.Targets {
		t.members = append(t.members, memberTally{results: &report.Step{}, skipped: map[probe.Skip]int{}})
	}
	if r.Observers != nil {
		t.exporter = j.RecorderFor(r.Observers)
	}
	return t
}

// place returns where a target stands in the job.
func (t *tally) place(target string) int {
	return slices.IndexFunc(t.job.Targets, func(c config.Target) bool { return c.Name == target })
}

// Record adds a result, canceled ones included. In a comparison it shows a line for it.
func (t *tally) Record(r *probe.Result) {
	if t.exporter != nil {
		t.exporter.Record(r)
	}
	i := t.place(r.Target)
	s := report.SampleOf(r, t.job.Targets[i].Places, t.job.Targets[i].GivenObjectives...)
	t.mu.Lock()
	m := &t.members[i]
	m.results.Add(s)
	if s.Outcome != probe.OK {
		m.failed++
	}
	t.mu.Unlock()
	if (r.Outcome != probe.Canceled || r.Stack != nil) && t.showsRequests() {
		t.run.Screen.Live(report.RequestLine(s))
	}
}

// Skipped counts a request that was not sent.
func (t *tally) Skipped(target, prompt string, reason probe.Skip) {
	if t.exporter != nil {
		t.exporter.Skipped(target, prompt, reason)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members[t.place(target)].skipped[reason]++
}

// watch runs a part of the step, in which these members are asked. It shows the progress meanwhile.
func (t *tally) watch(members []int, run func()) {
	t.mu.Lock()
	t.asked = members
	t.partBegan = time.Now()
	t.mu.Unlock()
	stop := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() { t.showProgress(stop) })
	run()
	close(stop)
	showing.Wait()
}

// summaries returns a summary of each member that was asked. sumUp sums up a single one.
func (t *tally) summaries(sumUp func(member int) report.Summary) (list []report.Summary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, target := range t.job.Targets {
		m := t.members[i]
		if m.results.Len() == 0 && len(m.skipped) == 0 {
			continue
		}
		s := sumUp(i)
		s.Target = target.Name
		s.URL = target.URL
		s.Model = t.job.Members[i].Knowledge().Model
		s.Load = t.load.String()
		s.AtOnce = t.load.InFlight()
		s.PromptTokens = promptTokens(target)
		s.Prompt = t.promptName()
		s.Skipped = maps.Clone(m.skipped)
		if t.load.ByTheClock {
			s = s.Paced(t.load.Plan.Interval)
		}
		list = append(list, s)
	}
	return list
}

// interim sums up a member of a step under way. It sorts a value of each request, no tokens.
func (t *tally) interim(member int) report.Summary { return t.members[member].results.Interim() }

// final sums up a member of a step that has ended.
func (t *tally) final(member int) report.Summary {
	m := t.members[member]
	s := m.results.Summary(t.job.Targets[member].GivenObjectives...)
	warning := startDelayWarning(m.results.Samples(), s.TTFT)
	if warning != "" {
		s.Warnings = append(s.Warnings, warning)
	}
	server := t.job.Members[member].Knowledge().Type
	if server.Note != "" {
		s.Warnings = append(s.Warnings, "this server is "+server.Name+": "+server.Note)
	}
	return s
}

// startDelayWarning says that requests began so late that TTFT may be wrong: by more than a tenth of its median, and by
// more than it takes to start some requests at once. It is empty otherwise.
func startDelayWarning(samples []report.Sample, ttft stats.Distribution) string {
	const toleratedShare = 0.1
	const floor = 5 * time.Millisecond
	if ttft.Count == 0 {
		return ""
	}
	var delays []time.Duration
	for _, sample := range samples {
		delays = append(delays, sample.Late)
	}
	slices.Sort(delays)
	delay := stats.QuantileOf(delays, stats.P99)
	share := delay.Seconds() / float64(ttft.At(stats.P50))
	if delay <= floor || share <= toleratedShare {
		return ""
	}
	return fmt.Sprintf("the bench was late: requests began up to %s after they were due "+
		"(p99, %.0f%% of the median TTFT); TTFT does not include that delay, but may be too long by as much",
		format.Duration(delay), 100*share)
}

// finish adds the summaries and comparisons of the step to the document, and shows them.
func (t *tally) finish() {
	r := t.run
	for _, s := range t.summaries(t.final) {
		warning := t.notSentWarning(s)
		if warning != "" {
			s.Warnings = append(s.Warnings, warning)
		}
		r.document.Summaries = append(r.document.Summaries, s)
		r.showResult(report.Block(s) + "\n")
	}
	for _, c := range t.comparisons() {
		r.document.Comparisons = append(r.document.Comparisons, c)
		r.showResult(c.Text(r.Screen.Width) + "\n")
	}
	if r.steps == 1 && r.Plan.Plot != "" {
		for _, m := range t.members {
			r.plotSteps = append(r.plotSteps, m.results)
		}
	}
}

// notSentWarning says how many requests of a step were not sent, and why. It is empty if there are none.
func (t *tally) notSentWarning(s report.Summary) string {
	total, known := t.load.Total()
	left := total - s.Slots()
	switch {
	case !known || left <= 0:
		return ""
	case s.Skipped[probe.SkipBudget] > 0:
		return fmt.Sprintf("%d of %d requests were not made: the token budget of the day is spent", left, total)
	}
	return fmt.Sprintf("%d of %d requests were not made or not completed: the run was interrupted", left, total)
}

// comparisons compares each member that has results with the first.
func (t *tally) comparisons() (list []report.Comparison) {
	samplesOfFirst := t.members[0].results.Samples()
	if len(samplesOfFirst) == 0 {
		return nil
	}
	for i := 1; i < len(t.members); i++ {
		samples := t.members[i].results.Samples()
		if len(samples) == 0 {
			continue
		}
		c := report.Comparison{
			A: t.job.Targets[0].Name, B: t.job.Targets[i].Name, Load: t.stepName(), Pair: "round",
			ComparisonsInRun: t.run.comparisons,
		}
		if !t.load.ByTheClock {
			c.Pair = "prompt"
			c.RequestsInPair = t.load.InFlight()
			c.Warnings = append(c.Warnings, report.MeasuredInTurn)
		}
		list = append(list, report.CompareSamples(c, samplesOfFirst, samples))
	}
	return list
}

// promptName returns the name of the step's prompt; empty if no target has several.
func (t *tally) promptName() string {
	if !t.run.Plan.Prompts {
		return ""
	}
	return t.job.Length.Prompts[0].Name
}

// stepName distinguishes the step from the others of the run: by its load, and by its prompt and the length of that if
// the run has several.
func (t *tally) stepName() string {
	name := t.load.String()
	if t.run.Plan.Prompts {
		name += ", " + t.promptName()
	}
	tokens := promptTokens(t.job.Targets[0])
	if tokens > 0 && len(t.run.Plan.Lengths) > 1 {
		name += ", prompts of " + format.Count(tokens, "token")
	}
	return name
}
