package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// How often progress is told.
const (
	redrawn = 200 * time.Millisecond // on a terminal
	retold  = 10 * time.Second       // elsewhere, a line each
)

// A screen is where a bench shows what it does: results on standard output,
// notes and progress on standard error. It is safe for concurrent use.
type screen struct {
	results io.Writer // what was measured; nil where it is written at the end, in another format
	notes   io.Writer
	bar     bool // progress is redrawn in its place
	columns int  // of the terminal that the bar is on
	width   int  // of tables
	color   bool

	mu    sync.Mutex
	drawn string // the bar that stands on the terminal; empty: none
	lost  error  // the first of writing results
}

func newScreen(out, errs io.Writer, format string) *screen {
	s := &screen{notes: errs, columns: columns(errs), bar: isTerminal(errs)}
	if format == "text" {
		s.results = out
	}
	s.width, s.color = terminal(out)
	return s
}

// result shows what was measured.
func (s *screen) result(text string) {
	if s.results != nil {
		s.write(s.results, text)
	}
}

// live shows a line about what goes on.
func (s *screen) live(line string) {
	if s.results != nil {
		s.write(s.results, line+"\n")
		return
	}
	s.write(s.notes, line+"\n")
}

// note tells something beside what is measured.
func (s *screen) note(line string) { s.write(s.notes, line+"\n") }

// write writes a text and lets the bar stand below it. That nobody reads notes is
// no failure of the run; that results are lost is told at its end.
func (s *screen) write(w io.Writer, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bar := s.drawn
	s.draw("")
	if _, err := io.WriteString(w, text); err != nil && w == s.results && s.lost == nil {
		s.lost = fmt.Errorf("write results: %w", err)
	}
	s.draw(bar)
}

// failure is that of writing results, if there was one.
func (s *screen) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// draw puts a bar in the place of the one before; an empty one takes it away.
func (s *screen) draw(bar string) {
	if s.bar && (bar != "" || s.drawn != "") {
		_, _ = io.WriteString(s.notes, "\r\x1b[K"+bar)
	}
	s.drawn = bar
}

// progress tells how far a step is.
func (s *screen) progress(p report.Progress) {
	if !s.bar {
		s.note(p.Line(0))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw(p.Line(s.columns - 1))
}

// settle takes the bar away.
func (s *screen) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw("")
}
