package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/bench"
	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A tally counts one step, and shows it while it runs.
type tally struct {
	run  *benchRun
	job  *engine.Job
	also engine.Recorder // takes the results as well; nil: nobody
	load bench.Load
	lags []bench.Lag // by member

	mu      sync.Mutex // guards all below
	samples [][]report.Sample
	failed  []int
	skipped []map[probe.Skip]int

	part  []int // members that are asked now
	began time.Time
	stop  chan struct{} // ends the showing of a part
	shown sync.WaitGroup
}

// newTally takes the results of j from now on.
func newTally(j *engine.Job, load bench.Load, r *benchRun) *tally {
	n := len(j.Targets)
	t := &tally{
		run: r, job: j, load: load, lags: make([]bench.Lag, n),
		samples: make([][]report.Sample, n), failed: make([]int, n), skipped: make([]map[probe.Skip]int, n),
	}
	for i := range t.skipped {
		t.skipped[i] = map[probe.Skip]int{}
	}
	if r.exported != nil {
		t.also = r.exported.Attend(j)
	}
	return t
}

// member is the place of a target in the group.
func (t *tally) member(target string) int {
	return slices.IndexFunc(t.job.Targets, func(c config.Target) bool { return c.Name == target })
}

func (t *tally) add(s report.Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.member(s.Target)
	t.samples[i] = append(t.samples[i], s)
	if s.Outcome != probe.OK {
		t.failed[i]++
	}
}

// Record takes a result, the canceled included. See [engine.Recorder].
func (t *tally) Record(r *probe.Result) {
	if t.also != nil {
		t.also.Record(r)
	}
	s := report.SampleOf(r)
	t.add(s)
	if r.Outcome != probe.Canceled && t.talks() {
		t.run.screen.live(report.RequestLine(s, t.widest()))
	}
}

// Skipped counts a request that was not made.
func (t *tally) Skipped(target string, reason probe.Skip) {
	if t.also != nil {
		t.also.Skipped(target, reason)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skipped[t.member(target)][reason]++
}

// widest is the columns that the longest name takes.
func (t *tally) widest() int {
	widest := 0
	for _, c := range t.job.Targets {
		widest = max(widest, len([]rune(c.Name)))
	}
	return widest
}

// begin shows a part of the step until end.
func (t *tally) begin(members []int) {
	t.mu.Lock()
	t.part, t.began = members, time.Now()
	t.mu.Unlock()
	t.stop = make(chan struct{})
	t.shown.Go(func() { t.show(t.stop) })
}

func (t *tally) end(members []int, lag bench.Lag) {
	close(t.stop)
	t.shown.Wait()
	for _, i := range members {
		t.lags[i] = lag
	}
}

// soFar is what was counted of member i until now. The samples are to be read
// only.
func (t *tally) soFar(i int) ([]report.Sample, map[probe.Skip]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.samples[i], maps.Clone(t.skipped[i])
}

// summaries tell the members that were asked, as far as they have answered.
func (t *tally) summaries() []report.Summary {
	var list []report.Summary
	var run []report.Sample
	for i := range t.job.Targets {
		samples, _ := t.soFar(i)
		run = append(run, samples...)
	}
	for i, target := range t.job.Targets {
		samples, skipped := t.soFar(i)
		if len(samples) == 0 && len(skipped) == 0 {
			continue
		}
		s := report.Summarize(samples)
		if t.load.Planned() {
			s = s.Paced(run, t.load.Plan.Interval)
		}
		s.Target, s.Load, s.AtOnce, s.Skipped = target.Name, t.load.Words(), t.load.Crowd(), skipped
		if target.Prompt != "dataset" {
			s.PromptTokens = target.PromptTokens
		}
		s.Warnings = slices.Concat(s.Warnings, report.LengthWarnings(samples, s.PromptTokens), doubtsOf(t.lags[i], samples, s))
		list = append(list, s)
	}
	return list
}

// notMade says that a step ended before all of its requests were made.
func (t *tally) notMade(s report.Summary) []string {
	total, known := t.load.Total()
	left := total - s.Succeeded() - s.Failed()
	for _, n := range s.Skipped {
		left -= n
	}
	switch {
	case !known || left <= 0:
		return nil
	case s.Skipped[probe.SkipBudget] > 0:
		return []string{fmt.Sprintf("%d of %d requests were not made: the day's tokens were spent", left, total)}
	}
	return []string{fmt.Sprintf("%d of %d requests were not made, or not to their end: the run was interrupted", left, total)}
}

// doubtsOf are the bench's own, about itself.
func doubtsOf(lag bench.Lag, samples []report.Sample, s report.Summary) []string {
	var late []time.Duration
	kernel := true
	for _, sample := range samples {
		kernel = kernel && !sample.ByUser
		late = append(late, sample.Late)
	}
	return bench.Doubt(lag, late, kernel, medianOf(s.TTFT), medianOf(s.TPOT))
}

// medianOf is the median of a distribution; 0 if it has none.
func medianOf(d report.Distribution) time.Duration {
	half, _ := d.At(0.5)
	return time.Duration(half.Value * float64(time.Second))
}

// finish writes the step into the document and, as text, at once.
func (t *tally) finish() {
	r := t.run
	summaries, comparisons := t.summaries(), t.comparisons()
	for i, s := range summaries {
		summaries[i].Warnings = append(s.Warnings, t.notMade(s)...)
	}
	r.document.Summaries = append(r.document.Summaries, summaries...)
	r.document.Comparisons = append(r.document.Comparisons, comparisons...)
	if r.steps == 1 && r.plan.plot != "" {
		r.drawn = slices.Concat(t.samples...)
	}
	var text strings.Builder
	for _, s := range summaries {
		_ = report.WriteBlock(&text, s) // a builder takes all
		text.WriteString("\n")
	}
	for _, c := range comparisons {
		_ = report.WriteComparison(&text, c, r.screen.width, r.screen.color)
		text.WriteString("\n")
	}
	r.screen.result(text.String())
}

// comparisons are of the first member with each other.
func (t *tally) comparisons() []report.Comparison {
	var list []report.Comparison
	for i := 1; i < len(t.samples); i++ {
		if len(t.samples[0]) == 0 || len(t.samples[i]) == 0 {
			continue
		}
		c := report.Comparison{A: t.job.Targets[0].Name, B: t.job.Targets[i].Name, Load: t.load.Words(), Pair: "round"}
		c.Warnings = append(report.PairWarnings(t.samples[0], t.samples[i]), t.shared(i)...)
		if !t.load.Planned() {
			c.Pair = "prompt"
			if t.load.Crowd() > 1 {
				c.Warnings = append(c.Warnings, "requests that were under way together share a queue and a batch: pairs are not independent, and the intervals may be too narrow")
			}
		}
		list = append(list, report.Compare(c, report.PairUp(t.samples[0], t.samples[i])))
	}
	return list
}
