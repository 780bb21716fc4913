package bench

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/format"
)

// A Screen is where a bench shows results, notes and progress. It is safe for concurrent use.
type Screen struct {
	Width int // of tables, in columns

	results io.Writer // what was measured; nowhere if it is written at the end, in another format
	live    io.Writer // what goes on
	notes   io.Writer
	columns int // of the terminal on which progress is redrawn in its place; 0: it has lines

	mu sync.Mutex
}

// NewScreen returns a screen that shows results on out if the layout is text, and everything else on errs.
func NewScreen(out, errs io.Writer, layout string) *Screen {
	s := &Screen{
		Width: format.TableWidth(out), columns: format.TerminalWidth(errs),
		results: io.Discard, live: errs, notes: errs,
	}
	if layout == "text" {
		s.results, s.live = out, out
	}
	return s
}

// Result shows what was measured.
func (s *Screen) Result(text string) error { return s.write(s.results, text) }

// Live shows a line about what is going on.
func (s *Screen) Live(line string) { _ = s.write(s.live, line+"\n") }

// Note shows a line beside what is measured.
func (s *Screen) Note(line string) { _ = s.write(s.notes, line+"\n") }

// write writes a text, on a terminal in the place of the progress that stands there.
func (s *Screen) write(w io.Writer, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.columns > 0 {
		_, _ = io.WriteString(s.notes, "\r\x1b[K")
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Pace returns how often progress is to be shown.
func (s *Screen) Pace() time.Duration {
	if s.columns > 0 {
		return 200 * time.Millisecond
	}
	return 10 * time.Second
}

// Progress shows how far a step is.
func (s *Screen) Progress(p Progress) {
	if s.columns == 0 {
		s.Note(p.Line(math.MaxInt))
		return
	}
	_ = s.write(s.notes, p.Line(s.columns-1))
}

// Settle removes what Progress drew.
func (s *Screen) Settle() { _ = s.write(s.notes, "") }

// A Progress is how far a step of a bench is.
type Progress struct {
	Step, Steps int    // from 1
	Label       string // what goes on

	Done, Failed int
	Total        int           // requests; 0 if only time ends the step
	Elapsed      time.Duration // since the step began
	Limit        time.Duration // none begins later; 0: no limit
}

// Line returns the progress in at most width columns, since a longer line could not be redrawn.
func (p Progress) Line(width int) string {
	words, tail, share := p.Label, fmt.Sprintf("  %d", p.Done), 0.0
	if p.Steps > 1 {
		words = fmt.Sprintf("step %d of %d, %s", p.Step, p.Steps, words)
	}
	if p.Total > 0 {
		share = float64(p.Done) / float64(p.Total)
		tail += fmt.Sprintf("/%d", p.Total)
	}
	if p.Limit > 0 {
		share = max(share, float64(p.Elapsed)/float64(p.Limit))
	}
	if p.Failed > 0 {
		tail += fmt.Sprintf("  %d failed", p.Failed)
	}
	tail += "  " + p.Elapsed.Round(time.Second).String()
	if share > 0 { // as long as it goes on as it did
		left := time.Duration(float64(p.Elapsed) * max(0, 1-share) / share)
		tail += "  ETA " + left.Round(time.Second).String()
	}
	return format.Shorten(format.Shorten(words, width-utf8.RuneCountInString(tail))+tail, width)
}
