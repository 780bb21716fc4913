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

	results io.Writer // for what was measured; discards it if the document is written at the end
	live    io.Writer // for single requests and intermediate results
	notes   io.Writer // for what is said beside the results
	columns int       // of the terminal on which progress is redrawn in its place; 0: no terminal, progress has lines

	mu sync.Mutex
}

// NewScreen returns a screen that shows results on out if the layout is text, and everything else on errs.
func NewScreen(out, errs io.Writer, layout string) *Screen {
	s := &Screen{
		Width:   format.TableWidth(out),
		columns: format.TerminalWidth(errs),
		results: io.Discard,
		live:    errs,
		notes:   errs,
	}
	if layout == "text" {
		s.results = out
		s.live = out
	}
	return s
}

// Result shows what was measured.
func (s *Screen) Result(text string) error { return s.write(s.results, text) }

// Live shows a line about what is going on.
func (s *Screen) Live(line string) { _ = s.write(s.live, line+"\n") }

// Note shows a line beside what is measured.
func (s *Screen) Note(line string) { _ = s.write(s.notes, line+"\n") }

// write writes a text. On a terminal it replaces the progress that stands there.
func (s *Screen) write(w io.Writer, text string) error {
	const clearLine = "\r\x1b[K"
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.columns > 0 {
		_, _ = io.WriteString(s.notes, clearLine)
	}
	_, err := io.WriteString(w, text)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// ProgressInterval returns how often progress is to be shown.
func (s *Screen) ProgressInterval() time.Duration {
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

// ClearProgress removes what Progress drew.
func (s *Screen) ClearProgress() { _ = s.write(s.notes, "") }

// A Progress is how far a step of a bench is.
type Progress struct {
	Step, Steps int    // Step counts from 1
	Label       string // what goes on

	Done, Failed int           // requests
	Total        int           // requests; 0 if only time ends the step
	Elapsed      time.Duration // since the step began
	Limit        time.Duration // no request begins later; 0: no limit
}

// Line returns the progress in at most width columns, because a longer line could not be redrawn.
func (p Progress) Line(width int) string {
	label := p.Label
	if p.Steps > 1 {
		label = fmt.Sprintf("step %d of %d, %s", p.Step, p.Steps, label)
	}
	figures := fmt.Sprintf("  %d", p.Done)
	if p.Total > 0 {
		figures += fmt.Sprintf("/%d", p.Total)
	}
	if p.Failed > 0 {
		figures += fmt.Sprintf("  %d failed", p.Failed)
	}
	figures += "  " + p.Elapsed.Round(time.Second).String()
	share := p.share()
	if share > 0 {
		left := time.Duration(float64(p.Elapsed) * max(0, 1-share) / share) // if it goes on as it did
		figures += "  ETA " + left.Round(time.Second).String()
	}
	label = format.Shorten(label, width-utf8.RuneCountInString(figures))
	return format.Shorten(label+figures, width)
}

// share returns which share of the step is over, by requests or by time. It is 0 if that is not known.
func (p Progress) share() (share float64) {
	if p.Total > 0 {
		share = float64(p.Done) / float64(p.Total)
	}
	if p.Limit > 0 {
		share = max(share, float64(p.Elapsed)/float64(p.Limit))
	}
	return share
}
