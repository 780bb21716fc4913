package bench

import (
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// mostLines is how many requests may be under way for each request of a comparison to have its own line.
const mostLines = 16

// show shows progress, and of a comparison what was measured so far, until stop is closed.
func (t *tally) show(stop <-chan struct{}) {
	s := t.run.Screen
	defer s.Settle()
	ticker := time.NewTicker(s.Pace())
	defer ticker.Stop()
	var blocks <-chan time.Time
	if every := t.run.Plan.Every; every > 0 && len(t.job.Targets) > 1 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		blocks = ticker.C
	}
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			s.Progress(t.progress(time.Now()))
		case <-blocks:
			t.showBlocks()
		}
	}
}

// showBlocks shows a block of each target, as far as it is.
func (t *tally) showBlocks() {
	var blocks []string
	for _, s := range t.summaries() {
		s.Load += ", so far"
		s.Warnings = nil // they are shown at the end
		blocks = append(blocks, report.Block(s))
	}
	t.run.Screen.Live(strings.Join(blocks, "\n"))
}

// progress is how far the part under way is.
func (t *tally) progress(now time.Time) report.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	total, _ := t.load.Total()
	p := report.Progress{
		Step: t.run.step, Steps: t.run.steps, Label: t.load.String(),
		Total: total * len(t.part), Elapsed: now.Sub(t.began), Limit: t.load.Limit,
	}
	if len(t.part) == 1 && len(t.job.Targets) > 1 {
		p.Label = t.job.Targets[t.part[0]].Name + ", " + p.Label
	}
	for _, i := range t.part {
		c := t.counts[i]
		p.Done, p.Failed = p.Done+len(c.samples), p.Failed+c.failed
		for _, n := range c.skipped {
			p.Done += n
		}
	}
	return p
}
