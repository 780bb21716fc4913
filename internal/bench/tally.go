package bench

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/wire"
)

// A tally counts one step, and shows it while it runs. It is the step's
// [probe.Recorder].
type tally struct {
	run       *run
	job       *engine.Job
	load      Load
	also      probe.Recorder      // takes the results as well; nil: none
	latencies []SchedulingLatency // by member

	mu      sync.Mutex // guards all below
	samples [][]report.Sample
	failed  []int
	skipped []map[probe.Skip]int
	part    []int // members that are asked now
	began   time.Time

	stop  chan struct{} // ends the showing of a part
	shown sync.WaitGroup
}

func newTally(j *engine.Job, load Load, r *run) *tally {
	n := len(j.Targets)
	t := &tally{
		run: r, job: j, load: load, latencies: make([]SchedulingLatency, n),
		samples: make([][]report.Sample, n), failed: make([]int, n), skipped: make([]map[probe.Skip]int, n),
	}
	for i := range t.skipped {
		t.skipped[i] = map[probe.Skip]int{}
	}
	if r.Observers != nil {
		t.also = r.Observers.Attend(j)
	}
	return t
}

// member is the place of a target in the group.
func (t *tally) member(target string) int {
	return slices.IndexFunc(t.job.Targets, func(c config.Target) bool { return c.Name == target })
}

// Record takes a result, the canceled included.
func (t *tally) Record(r *probe.Result) {
	if t.also != nil {
		t.also.Record(r)
	}
	s := report.SampleOf(r)
	t.mu.Lock()
	i := t.member(s.Target)
	t.samples[i] = append(t.samples[i], s)
	if s.Outcome != probe.OK {
		t.failed[i]++
	}
	t.mu.Unlock()
	if r.Outcome != probe.Canceled && len(t.job.Targets) > 1 && t.load.InFlight() <= mostLines {
		t.run.Screen.Live(report.RequestLine(s, t.longestName()))
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

// begin shows a part of the step until end.
func (t *tally) begin(members []int) {
	t.mu.Lock()
	t.part, t.began = members, time.Now()
	t.mu.Unlock()
	t.stop = make(chan struct{})
	t.shown.Go(t.show)
}

func (t *tally) end(members []int, latency SchedulingLatency) {
	close(t.stop)
	t.shown.Wait()
	for _, i := range members {
		t.latencies[i] = latency
	}
}

// soFar is what was counted of each member until now. The samples are to be read only.
func (t *tally) soFar() (samples [][]report.Sample, skipped []map[probe.Skip]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.skipped {
		skipped = append(skipped, maps.Clone(m))
	}
	return slices.Clone(t.samples), skipped
}

// summaries are of the members that were asked, as far as they have answered.
func (t *tally) summaries() []report.Summary {
	var list []report.Summary
	samples, skipped := t.soFar()
	for i, target := range t.job.Targets {
		if len(samples[i]) == 0 && len(skipped[i]) == 0 {
			continue
		}
		s := report.Summarize(samples[i])
		if t.load.Planned() {
			s = s.Paced(slices.Concat(samples...), t.load.Plan.Interval)
		}
		s.Target, s.Load, s.AtOnce, s.Skipped, s.PromptTokens = target.Name, t.load.String(), t.load.InFlight(), skipped[i], askedTokens(target)
		s.URL, s.Model = target.URL, t.job.Members[i].Capabilities().Model
		s.Warnings = slices.Concat(s.Warnings, report.LengthWarnings(samples[i], s.PromptTokens), t.clientWarnings(i, samples[i], s))
		list = append(list, s)
	}
	return list
}

// clientWarnings are about how late the bench was itself while it asked member i.
func (t *tally) clientWarnings(i int, samples []report.Sample, s report.Summary) []string {
	var late []time.Duration
	kernel := true
	for _, sample := range samples {
		kernel = kernel && !sample.ByUser
		late = append(late, sample.Late)
	}
	return clientWarnings(t.latencies[i], late, kernel, medianOf(s.TTFT), medianOf(s.TPOT))
}

// medianOf is the median of a distribution; 0 if it has none.
func medianOf(d report.Distribution) time.Duration {
	half, _ := d.At(0.5)
	return time.Duration(float64(half.Value) * float64(time.Second))
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
		return []string{fmt.Sprintf("%d of %d requests were not made: the token budget of the day is spent", left, total)}
	}
	return []string{fmt.Sprintf("%d of %d requests were not made or not completed: the run was interrupted", left, total)}
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
	if r.steps == 1 && r.Plan.Plot != "" {
		r.drawn = slices.Concat(t.samples...)
	}
	var text strings.Builder // its writes never fail
	for _, s := range summaries {
		_ = report.WriteBlock(&text, s)
		text.WriteString("\n")
	}
	for _, c := range comparisons {
		_ = report.WriteComparison(&text, c, r.Screen.Width)
		text.WriteString("\n")
	}
	r.Screen.Result(text.String())
}

// comparisons are of the first member with each other.
func (t *tally) comparisons() []report.Comparison {
	var list []report.Comparison
	for i := 1; i < len(t.samples); i++ {
		if len(t.samples[0]) == 0 || len(t.samples[i]) == 0 {
			continue
		}
		c := report.Comparison{A: t.job.Targets[0].Name, B: t.job.Targets[i].Name, Load: t.load.String(), Pair: "round"}
		c.Warnings = append(report.PairWarnings(t.samples[0], t.samples[i]), t.sharedCache(i)...)
		if !t.load.Planned() {
			c.Pair = "prompt"
			if t.load.InFlight() > 1 {
				c.Warnings = append(c.Warnings, report.DependentPairs)
			}
		}
		list = append(list, report.Compare(c, report.PairUp(t.samples[0], t.samples[i])))
	}
	return list
}

// sharedCache warns where the first target and member i are one host, whose cache may
// know from the one what the other is asked: no salt keeps them apart, and the server
// does not say how much was cached.
func (t *tally) sharedCache(i int) []string {
	if t.job.Prompts.Workload == prompt.Warm || host(t.job.Targets[0].URL) != host(t.job.Targets[i].URL) {
		return nil
	}
	if slices.ContainsFunc(t.job.Members[i].Capabilities().Abilities(), func(a probe.Ability) bool {
		return a.Claim == wire.Always && (a.Name == "cache_salt" || a.Name == "cached_tokens")
	}) {
		return nil
	}
	return []string{"both are the same host, which does not say what its cache contained: the one that is asked second may be faster for that alone"}
}

// host is that of a URL, with its port.
func host(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Host
}
