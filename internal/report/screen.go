package report

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// How often progress is shown.
const (
	redrawn = 200 * time.Millisecond // on a terminal
	retold  = 10 * time.Second       // elsewhere, a line each
)

// A Screen is where a bench shows what it does: results on standard output,
// notes and progress on standard error. It is safe for concurrent use.
type Screen struct {
	Width int // of tables, in columns
	Color bool

	results io.Writer // what was measured; nil where it is written at the end, in another format
	notes   io.Writer
	bar     bool // progress is redrawn in its place
	columns int  // of the terminal that the bar is on

	mu    sync.Mutex
	drawn string // the bar that stands on the terminal; empty: none
	lost  error  // the first of writing results
}

// NewScreen returns a screen that shows results in a format to out, or, if that is not
// text, none of them, and everything else to errs.
func NewScreen(out, errs io.Writer, format string) *Screen {
	s := &Screen{notes: errs, columns: widthOf(errs), bar: IsTerminal(errs)}
	if format == "text" {
		s.results = out
	}
	s.Width, s.Color = Terminal(out)
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
	if s.results != nil {
		s.write(s.results, line+"\n")
		return
	}
	s.write(s.notes, line+"\n")
}

// Note shows a line beside what is measured.
func (s *Screen) Note(line string) { s.write(s.notes, line+"\n") }

// write writes a text and redraws the bar below it. Notes that cannot be written do not
// fail the run; results that cannot are reported at its end.
func (s *Screen) write(w io.Writer, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bar := s.drawn
	s.draw("")
	if _, err := io.WriteString(w, text); err != nil && w == s.results && s.lost == nil {
		s.lost = fmt.Errorf("write results: %w", err)
	}
	s.draw(bar)
}

// Failure is the first error of writing results.
func (s *Screen) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// draw puts a bar in the place of the one before; an empty one removes it.
func (s *Screen) draw(bar string) {
	if s.bar && (bar != "" || s.drawn != "") {
		_, _ = io.WriteString(s.notes, "\r\x1b[K"+bar)
	}
	s.drawn = bar
}

// Pace is how often progress is to be shown.
func (s *Screen) Pace() time.Duration {
	if s.bar {
		return redrawn
	}
	return retold
}

// Progress shows how far a step is.
func (s *Screen) Progress(p Progress) {
	if !s.bar {
		s.Note(p.Line(0))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw(p.Line(s.columns - 1))
}

// Settle removes the bar.
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

// Terminal is how wide w is, in columns, and whether it takes colours: 80 and
// no if it is not a terminal. See https://no-color.org.
func Terminal(w io.Writer) (width int, color bool) {
	if !IsTerminal(w) {
		return 80, false
	}
	width = widthOf(w)
	if width < 40 {
		width = 80
	}
	return min(width, 120), os.Getenv("NO_COLOR") == ""
}

// widthOf is how wide w is; 80 if that is not known.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width >= 2 {
			return width
		}
	}
	return 80
}
