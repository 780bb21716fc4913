package report

import (
	"fmt"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

// A Progress is how far a step of a bench is.
type Progress struct {
	Step, Steps int    // from 1
	Label       string // what goes on

	Done, Failed int
	Total        int           // requests; 0 if only time ends the step
	Elapsed      time.Duration // since the step began
	Limit        time.Duration // none begins later; 0: no limit
}

// Line is the progress in at most width columns, since a line that is longer than its
// terminal is wide could not be redrawn: the end of its label is left out. A width of 0 is
// any.
func (p Progress) Line(width int) string {
	words := p.Label
	if p.Steps > 1 {
		words = fmt.Sprintf("step %d of %d, %s", p.Step, p.Steps, words)
	}
	tail := fmt.Sprintf("  %d", p.Done)
	if p.Total > 0 {
		tail += fmt.Sprintf("/%d", p.Total)
	}
	if p.Failed > 0 {
		tail += fmt.Sprintf("  %d failed", p.Failed)
	}
	tail += "  " + clock(p.Elapsed)
	if share := p.share(); share > 0 { // as long as it goes on as it did
		tail += "  ETA " + clock(time.Duration(float64(p.Elapsed)*(1-share)/share))
	}
	if width <= 0 {
		return words + tail
	}
	return format.Shorten(format.Shorten(words, width-length(tail))+tail, width)
}

// share is how much of the step is over, between 0 and 1.
func (p Progress) share() float64 {
	share := 0.0
	if p.Total > 0 {
		share = float64(p.Done) / float64(p.Total)
	}
	if p.Limit > 0 {
		share = max(share, float64(p.Elapsed)/float64(p.Limit))
	}
	return min(1, share)
}

// clock spells a time as clocks do: 1:05, 1:02:03.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
