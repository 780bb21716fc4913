package report

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// A Screen is where a bench shows what it does: results on standard output,
// notes and progress on standard error. It is safe for concurrent use.
type Screen struct {
	Width int // of tables, in columns

	results io.Writer // what was measured; nil where it is written at the end, in another format
	notes   io.Writer
	columns int // of the terminal on which progress is redrawn in its place; 0: it has lines

	mu    sync.Mutex
	drawn string // the progress that stands on the terminal; empty: none
	lost  error  // the first of writing results
}

// NewScreen returns a screen that shows results in a format to out, or, if that is not
// text, none of them, and everything else to errs.
func NewScreen(out, errs io.Writer, format string) *Screen {
	s := &Screen{Width: Terminal(out), notes: errs}
	if IsTerminal(errs) {
		s.columns = columnsOf(errs)
	}
	if format == "text" {
		s.results = out
	}
	return s
}

// Result shows what was measured.
func (s *Screen) Result(text string) {
	if s.results != nil {
		s.write(s.results, text)
	}
}

// Live shows a line about what is going on.
func (s *Screen) Live(line string) {
	if s.results == nil {
		s.Note(line)
		return
	}
	s.Result(line + "\n")
}

// Note shows a line beside what is measured.
func (s *Screen) Note(line string) { s.write(s.notes, line+"\n") }

// write writes a text, and the progress again below it. Notes that cannot be written do not
// fail the run; results that cannot are reported at its end.
func (s *Screen) write(w io.Writer, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	progress := s.drawn
	s.draw("")
	if _, err := io.WriteString(w, text); err != nil && w == s.results && s.lost == nil {
		s.lost = fmt.Errorf("write results: %w", err)
	}
	s.draw(progress)
}

// Failure is the first error of writing results.
func (s *Screen) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// draw puts progress in the place of what was drawn before.
func (s *Screen) draw(progress string) {
	if progress != s.drawn {
		_, _ = io.WriteString(s.notes, "\r\x1b[K"+progress)
	}
	s.drawn = progress
}

// Pace is how often progress is to be shown.
func (s *Screen) Pace() time.Duration {
	if s.columns > 0 {
		return 200 * time.Millisecond
	}
	return 10 * time.Second
}

// Progress shows how far a step is.
func (s *Screen) Progress(p Progress) {
	if s.columns == 0 {
		s.Note(p.Line(0))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw(p.Line(s.columns - 1))
}

// Settle removes what Progress drew.
func (s *Screen) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw("")
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Terminal is how wide tables on w are, in columns: 80 to 120.
func Terminal(w io.Writer) int { return min(max(columnsOf(w), defaultWidth), 120) }

// columnsOf is how wide w is; 80 if that is not known.
func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width >= 2 {
			return width
		}
	}
	return defaultWidth
}
