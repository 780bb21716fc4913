package main

import (
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
)

// show tells progress, and of a comparison what was measured so far, until stop
// is closed.
func (t *tally) show(stop <-chan struct{}) {
	s := t.run.screen
	defer s.settle()
	pace := retold
	if s.bar {
		pace = redrawn
	}
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	var blocks <-chan time.Time
	if every := t.run.plan.everyOf(t.job.Targets); every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		blocks = ticker.C
	}
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			s.progress(t.progress(time.Now()))
		case <-blocks:
			t.showBlocks()
		}
	}
}

// showBlocks shows a block of each target, as far as it is.
func (t *tally) showBlocks() {
	var text strings.Builder
	for _, s := range t.summaries() {
		s.Load += ", so far"
		s.Warnings = nil                // they are told at the end
		_ = report.WriteBlock(&text, s) // a builder takes all
		text.WriteString("\n")
	}
	t.run.screen.live(strings.TrimSuffix(text.String(), "\n"))
}

// progress is how far the part under way is.
func (t *tally) progress(now time.Time) report.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	total, _ := t.load.Total()
	p := report.Progress{
		Step: t.run.step, Steps: t.run.steps, Label: t.label(),
		Total: total * len(t.part), Elapsed: now.Sub(t.began), Limit: t.load.Limit,
	}
	for _, i := range t.part {
		p.Done, p.Failed = p.Done+len(t.samples[i]), p.Failed+t.failed[i]
		for _, n := range t.skipped[i] {
			p.Done += n
		}
	}
	return p
}

// label names what is asked now.
func (t *tally) label() string {
	words := t.load.Words()
	if len(t.part) == 1 && len(t.job.Targets) > 1 {
		words = t.job.Targets[t.part[0]].Name + ", " + words
	}
	return words
}

// talkative is how many requests may be under way for each to have its line.
const talkative = 16

// talks reports whether each request has its line: those of a comparison, unless
// they come in crowds.
func (t *tally) talks() bool { return len(t.job.Targets) > 1 && t.load.Crowd() <= talkative }

// everyOf is how often blocks are shown while a step runs: only of comparisons.
func (p *benchPlan) everyOf(targets []config.Target) time.Duration {
	if len(targets) < 2 {
		return 0
	}
	return p.every
}
