package bench

import (
	"cmp"
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
)

// A tally counts one step, and shows it while it runs. It is the step's [probe.Recorder].
type tally struct {
	run  *run
	job  *engine.Job
	load Load
	also probe.Recorder // takes the results as well; nil: none

	mu     sync.Mutex // guards all below
	counts []count    // by member
	part   []int      // members that are asked now
	began  time.Time  // when the part did

	stepBegan time.Time // when the step did, all parts
}

type count struct {
	step    *report.Step
	failed  int
	skipped map[probe.Skip]int
	late    time.Duration // how late the machine was while it was asked; set at the end
}

func newTally(j *engine.Job, load Load, r *run) *tally {
	t := &tally{run: r, job: j, load: load, counts: make([]count, len(j.Targets)), stepBegan: time.Now()}
	for i := range t.counts {
		t.counts[i].step = &report.Step{}
		t.counts[i].skipped = map[probe.Skip]int{}
	}
	if r.Observers != nil {
		t.also = r.Observers.RecorderFor(j)
	}
	return t
}

// of is the count of a target. The lock is held.
func (t *tally) of(target string) *count {
	return &t.counts[slices.IndexFunc(t.job.Targets, func(c config.Target) bool { return c.Name == target })]
}

// Record takes a result, the canceled included.
func (t *tally) Record(r *probe.Result) {
	if t.also != nil {
		t.also.Record(r)
	}
	s := report.SampleOf(r, t.run.objectives()...)
	t.mu.Lock()
	c := t.of(s.Target)
	c.step.Add(s)
	if s.Outcome != probe.OK {
		c.failed++
	}
	t.mu.Unlock()
	if r.Outcome == probe.Canceled || len(t.job.Targets) == 1 || t.load.InFlight() > mostLines {
		return
	}
	t.run.Screen.Live(report.RequestLine(s))
}

// Skipped counts a request that was not made.
func (t *tally) Skipped(target string, reason probe.Skip) {
	if t.also != nil {
		t.also.Skipped(target, reason)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(target).skipped[reason]++
}

// ask runs a part of the step, in which these members are asked, and shows it.
func (t *tally) ask(members []int, run func()) {
	t.mu.Lock()
	t.part, t.began = members, time.Now()
	t.mu.Unlock()
	stop := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() { t.show(stop) })
	late := waited(run)
	close(stop)
	shown.Wait()
	for _, i := range members {
		t.counts[i].late = late
	}
}

// summaries are of the members that were asked, by a function that sums one up.
func (t *tally) summaries(sumUp func(member int) report.Summary) (list []report.Summary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, target := range t.job.Targets {
		c := t.counts[i]
		if c.step.Len() == 0 && len(c.skipped) == 0 {
			continue
		}
		s := sumUp(i)
		s.Target, s.URL, s.Model = target.Name, target.URL, t.job.Members[i].Capabilities().Model
		s.Load, s.AtOnce, s.PromptTokens = t.load.String(), t.load.InFlight(), askedTokens(target)
		s.Skipped = maps.Clone(c.skipped)
		if t.load.Planned() {
			s = s.Paced(t.load.Plan.Interval)
		}
		list = append(list, s)
	}
	return list
}

// interim is what summaries of a step under way say, which costs next to nothing on the CPUs that measure.
func (t *tally) interim(member int) report.Summary { return t.counts[member].step.Interim() }

// final is what summaries of a step that has ended say.
func (t *tally) final(member int) report.Summary {
	c := t.counts[member]
	s := c.step.Summary(t.run.objectives()...)
	s.Warnings = append(s.Warnings, c.clientWarnings(medianOf(s.TTFT), medianOf(s.TPOT))...)
	if server := t.job.Members[member].Capabilities().Server; server.Note != "" {
		s.Warnings = append(s.Warnings, "this server is "+server.Name+": "+server.Note)
	}
	return s
}

func medianOf(d report.Distribution) time.Duration {
	if d.Quantiles == nil {
		return 0
	}
	return time.Duration(float64(d.At(0.5)) * float64(time.Second))
}

func (t *tally) notMade(s report.Summary) []string {
	total, known := t.load.Total()
	left := total - s.Slots()
	switch {
	case !known || left <= 0:
		return nil
	case s.Skipped[probe.SkipBudget] > 0:
		return []string{fmt.Sprintf("%d of %d requests were not made: the token budget of the day is spent", left, total)}
	}
	return []string{fmt.Sprintf("%d of %d requests were not made or not completed: the run was interrupted", left, total)}
}

func (t *tally) finish() {
	r := t.run
	for _, s := range t.summaries(t.final) {
		s.Warnings = append(s.Warnings, t.notMade(s)...)
		r.document.Summaries = append(r.document.Summaries, s)
		r.lost = cmp.Or(r.lost, r.Screen.Result(report.Block(s)+"\n"))
	}
	for _, c := range t.comparisons() {
		r.document.Comparisons = append(r.document.Comparisons, c)
		r.lost = cmp.Or(r.lost, r.Screen.Result(c.Text(r.Screen.Width)+"\n"))
	}
	if r.steps == 1 && r.Plan.Plot != "" {
		for _, c := range t.counts {
			r.drawn = append(r.drawn, c.step)
		}
	}
}

// comparisons are of the first member with each other.
func (t *tally) comparisons() (list []report.Comparison) {
	first := t.counts[0].step.Samples()
	for i := range t.counts {
		other := t.counts[i].step.Samples()
		if i == 0 || len(first) == 0 || len(other) == 0 {
			continue
		}
		c := report.Comparison{
			A: t.job.Targets[0].Name, B: t.job.Targets[i].Name, Load: t.stepName(), Pair: "round",
			ComparisonsInRun: t.run.comparisons,
			Excluded:         report.Exclusions(first, other),
			Warnings:         report.PairWarnings(first, other),
		}
		if !t.load.Planned() {
			c.Pair = "prompt"
			c.RequestsInPair = t.load.InFlight()
			c.Warnings = append(c.Warnings, report.MeasuredInTurn)
		}
		list = append(list, report.Compare(c, report.PairUp(first, other)))
	}
	return list
}

// stepName tells the step from the others of the run: its load, and the length of the prompts if there are several.
func (t *tally) stepName() string {
	name := t.load.String()
	if n := askedTokens(t.job.Targets[0]); n > 0 && len(t.run.Plan.Lengths) > 1 {
		name += ", prompts of " + format.Count(n, "token")
	}
	return name
}

// mostLines is how many requests may be under way for each request of a comparison to have its own line.
const mostLines = 16

// show shows progress, and of a comparison what was measured so far, until stop is closed.
func (t *tally) show(stop <-chan struct{}) {
	s := t.run.Screen
	defer s.Settle()
	ticker := time.NewTicker(s.Pace())
	defer ticker.Stop()
	var interims <-chan time.Time
	if every := t.run.Plan.Every; every > 0 && len(t.job.Targets) > 1 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		interims = ticker.C
	}
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			s.Progress(t.progress(time.Now()))
		case now := <-interims:
			t.showInterim(now)
		}
	}
}

// showInterim shows a line for each target, of what was measured so far.
func (t *tally) showInterim(now time.Time) {
	list := t.summaries(t.interim)
	if len(list) == 0 {
		return
	}
	t.mu.Lock()
	after := now.Sub(t.stepBegan)
	t.mu.Unlock()
	title := "so far, after " + after.Round(time.Second).String()
	if len(list) == 1 { // whose name the table leaves out
		title = list[0].Target + " " + title
	}
	t.run.Screen.Live(title + ":\n" + report.Overview(list))
}

func (t *tally) progress(now time.Time) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	total, _ := t.load.Total()
	p := Progress{
		Step: t.run.step, Steps: t.run.steps, Label: t.load.String(),
		Total: total * len(t.part), Elapsed: now.Sub(t.began), Limit: t.load.Limit,
	}
	if len(t.part) == 1 && len(t.job.Targets) > 1 {
		p.Label = t.job.Targets[t.part[0]].Name + ", " + p.Label
	}
	for _, i := range t.part {
		c := t.counts[i]
		p.Done, p.Failed = p.Done+c.step.Len(), p.Failed+c.failed
		for _, n := range c.skipped {
			p.Done += n
		}
	}
	return p
}
