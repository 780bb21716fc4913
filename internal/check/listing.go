package check

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/llm-prober/prober/internal/format"
)

// A listing writes what is found about targets that are checked side by side, in the order of the targets. What is
// found about the first target that is not ready yet is written at once; the others wait for their turn.
type listing struct {
	out   io.Writer
	width int // of the lines

	mu        sync.Mutex
	current   int      // the target that is written at once
	unwritten []string // what was found about each of those after it
	ended     []bool   // whether nothing more will be found about each target
}

// newListing returns a listing of a number of targets. A nil writer gets nothing.
func newListing(out io.Writer, targets int) *listing {
	if out == nil {
		out = io.Discard
	}
	return &listing{
		out: out, width: lineWidth(out),
		unwritten: make([]string, targets), ended: make([]bool, targets),
	}
}

// add writes text about a target, now or at its turn.
func (l *listing) add(turn int, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if turn == l.current {
		_, _ = io.WriteString(l.out, text)
		return
	}
	l.unwritten[turn] += text
}

// end says that there will be no more text about a target. If it was the current one, it is the turn of the next one.
func (l *listing) end(turn int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[turn] = true
	for l.current < len(l.ended) && l.ended[l.current] {
		l.current++
		if l.current < len(l.ended) {
			_, _ = io.WriteString(l.out, l.unwritten[l.current])
		}
	}
}

// write writes text that is about no target, when all have ended.
func (l *listing) write(text string) { _, _ = io.WriteString(l.out, text) }

// lines returns a finding as lines behind a label.
func (f Finding) lines(label string, width int) string {
	text := f.Text
	if f.Name != "" {
		text = strings.ReplaceAll(f.Name, "_", " ") + ": " + f.Text
	}
	if f.Prompt != "" {
		text = f.Prompt + ": " + text
	}
	all := labelled(label, format.Clean(text), width) // it may have a server's words
	if f.Hint != "" {
		all += labelled("", f.Hint, width)
	}
	return all
}

// labelled returns the lines of a text behind a label.
func labelled(label, text string, width int) string {
	return format.Wrap(fmt.Sprintf("  %-8s ", label), text, width)
}

// label returns what stands before f.
func (f Finding) label() string {
	if f.Step == Failed {
		return "FAILED"
	}
	return string(f.Step)
}

// lineWidth returns the width of lines of text on w. They are wrapped only on a terminal, so that grep finds them
// whole.
func lineWidth(w io.Writer) int {
	const widest = 120 // columns; longer lines are hard to read
	if !format.IsTerminal(w) {
		return math.MaxInt
	}
	return min(format.TerminalWidth(w), widest)
}

// A progress shows in one line of a terminal how many targets are checked, and which ones are being checked.
type progress struct {
	out   io.Writer // nothing is shown if it is nil or no terminal
	total int       // number of targets to check

	mu      sync.Mutex
	checked int
	current []string // names of those that are being checked
}

// clearLine removes what stands in the line of a terminal.
const clearLine = "\r\x1b[K"

// begin shows that a target is being checked, until end is called.
func (p *progress) begin(name string) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = append(p.current, name)
	p.show()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		i := slices.Index(p.current, name)
		p.current = slices.Delete(p.current, i, i+1)
		p.checked++
		p.show()
	}
}

// show writes the line anew. The lock must be held.
func (p *progress) show() {
	if !format.IsTerminal(p.out) {
		return
	}
	text := fmt.Sprintf("%d of %d checked", p.checked, p.total)
	if len(p.current) > 0 {
		text += ", now " + format.List(p.current)
	}
	fmt.Fprint(p.out, clearLine+format.Shorten(text, format.TerminalWidth(p.out)-1))
}

// clear removes the line.
func (p *progress) clear() {
	if format.IsTerminal(p.out) {
		fmt.Fprint(p.out, clearLine)
	}
}
