package report

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
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

// NewScreen returns a screen that shows results on out if the format is text, and everything else on errs.
func NewScreen(out, errs io.Writer, format string) *Screen {
	s := &Screen{Width: Terminal(out), results: io.Discard, live: errs, notes: errs, columns: columnsOf(errs)}
	if format == "text" {
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
	return write(w, text)
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
		s.Note(p.Line(math.MaxInt))
		return
	}
	_ = s.write(s.notes, p.Line(s.columns-1))
}

// Settle removes what Progress drew.
func (s *Screen) Settle() { _ = s.write(s.notes, "") }

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool { return columnsOf(w) > 0 }

// Terminal is how wide tables on w are, in columns: 80 to 120.
func Terminal(w io.Writer) int { return min(max(columnsOf(w), defaultWidth), 120) }

// columnsOf is how wide the terminal w is, 80 if that is not known; 0 if w is none.
func columnsOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width >= 2 {
		return width
	}
	return defaultWidth
}

// A Progress is how far a step of a bench is.
type Progress struct {
	Step, Steps int    // from 1
	Label       string // what goes on

	Done, Failed int
	Total        int           // requests; 0 if only time ends the step
	Elapsed      time.Duration // since the step began
	Limit        time.Duration // none begins later; 0: no limit
}

// Line is the progress in at most width columns, since a longer line could not be redrawn.
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
	return format.Shorten(format.Shorten(words, width-length(tail))+tail, width)
}

// RequestLine is one request in one line without its end, up to 80 columns if it succeeded.
func RequestLine(s Sample) string {
	const names = 16 // columns
	head := fmt.Sprintf("%5s %-*s %-2s", fmt.Sprintf("#%d", s.Round), names, format.Shorten(format.Clean(s.Target), names), s.Outcome)
	if s.Outcome != probe.OK {
		return strings.TrimSuffix(fmt.Sprintf("%s after %s: %s", head, format.Duration(s.Elapsed), format.Shorten(format.Clean(s.Error), 80)), ": ")
	}
	return strings.TrimRight(fmt.Sprintf("%s  TTFT %-7s  TPOT %-7s  ITL %-7s  E2EL %-7s", head,
		secondsOrNone(s.TTFT), secondsOrNone(s.TPOT), secondsOrNone(s.ITL), secondsOrNone(s.E2EL)), " ")
}
