package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// The columns of a waterfall.
const (
	leastWidth   = 40
	defaultWidth = 80
	labelWidth   = 13 // "first token" and its indent
	valueWidth   = 10 // "12.3 ms" and what is around it
)

// Waterfall writes one probe for people to read, in lines of at most width
// columns (0: 80; 40 at least) where words allow. With color it holds ANSI
// colours, which say nothing that the text does not say as well. Texts that a
// server wrote are stripped of control characters. The error is that of w.
func Waterfall(w io.Writer, r *probe.Result, width int, color bool) error {
	if width <= 0 {
		width = defaultWidth
	}
	p := &printer{r: r, width: max(width, leastWidth), brush: brush(color)}
	p.headline()
	p.phases()
	p.latencies()
	p.gaps()
	p.accounts()
	p.verdict()
	if _, err := io.WriteString(w, p.text.String()); err != nil {
		return fmt.Errorf("write waterfall: %w", err)
	}
	return nil
}

// A printer gathers the text of one waterfall.
type printer struct {
	r     *probe.Result
	width int
	brush brush
	text  strings.Builder
}

// line writes a label and a text, which goes on below itself where it is too
// long.
func (p *printer) line(label, text string) {
	for i, l := range wrap(text, p.width-labelWidth) {
		if i > 0 {
			label = ""
		}
		p.raw(label, l)
	}
}

// raw writes a label and a text as they are.
func (p *printer) raw(label, text string) {
	label = p.brush.paint(dim, label) + strings.Repeat(" ", labelWidth-2-length(label))
	p.text.WriteString(strings.TrimRight("  "+label+text, " ") + "\n")
}

func (p *printer) gap() { p.text.WriteString("\n") }

// headline names the target and its outcome; of a failure also the error.
func (p *printer) headline() {
	r := p.r
	words := p.brush.paint(bold, format.Clean(r.Target)) + "  " + p.brush.paint(outcomePaint(r.Outcome), string(r.Outcome))
	if r.Outcome != probe.OK {
		words += ": " + Meaning(r.Outcome)
	}
	p.text.WriteString(strings.Join(wrap(words, p.width), "\n") + "\n")
	if what := strings.Join(known(format.Clean(r.Model), format.Clean(r.API), promptWord(r.Prompt)), ", "); what != "" {
		p.line("", what)
	}
	if r.Err != nil {
		p.line("error", format.Clean(r.Err.Error()))
	}
}

func promptWord(prompt string) string {
	if prompt == "" {
		return ""
	}
	return format.Clean(prompt) + " prompt"
}

// known leaves out empty texts.
func known(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func outcomePaint(o probe.Outcome) paint {
	switch o {
	case probe.OK:
		return green
	case probe.Canceled:
		return yellow
	}
	return red
}

// A phase is a bar of the waterfall.
type phase struct {
	label    string
	from, to time.Duration
	paint    paint
}

// phasesOf are the phases that a probe reached, in their order. The last one of a
// failed probe is the wait until it failed.
func phasesOf(r *probe.Result) []phase {
	var list []phase
	at := time.Duration(0)
	until := func(label string, to time.Duration, c paint) {
		list = append(list, phase{label, at, max(at, to), c})
		at = max(at, to)
	}
	p := r.Phases
	for _, part := range []struct {
		label  string
		length time.Duration
		paint  paint
	}{{"dns", p.DNS, purple}, {"connect", p.Connect, yellow}, {"tls", p.TLS, purple}} {
		if part.length > 0 {
			until(part.label, at+part.length, part.paint)
		}
	}
	if p.Wrote > 0 {
		until("write", p.Wrote, cyan)
	}
	if p.Header > 0 {
		until("wait", p.Header, blue)
	}
	if tokens := r.Tokens; len(tokens) > 0 {
		until("first token", tokens[0].At, blue)
		if end := max(tokens[len(tokens)-1].At, r.Timeline.Finish); end > at {
			until("decode", end, green)
		}
	}
	if r.Outcome != probe.OK && r.Elapsed > at {
		until("to failure", r.Elapsed, red)
	}
	return list
}

// phases draws them on one axis.
func (p *printer) phases() {
	list := phasesOf(p.r)
	if len(list) == 0 {
		return
	}
	p.gap()
	if p.r.Phases.Reused {
		p.line("connection", "reused: no DNS, connect or TLS phase")
	}
	limit, cells := list[len(list)-1].to, p.width-labelWidth-valueWidth
	for _, ph := range list {
		value := padLeft(format.Duration(ph.to-ph.from), valueWidth-2) + "  "
		p.raw(ph.label, value+p.brush.paint(ph.paint, span(ph.from, ph.to, limit, cells)))
	}
	p.raw("", strings.Repeat(" ", valueWidth)+p.brush.paint(dim, axis(limit, cells)))
}

// gaps draws the gaps between token frames. The one during which the probe failed is a
// mark at the end: it may be too long for the scale of the others.
func (p *printer) gaps() {
	var list []time.Duration
	var frames []int // before which they are
	for frame, s := range p.r.Spans() {
		if s.Gap {
			list, frames = append(list, s.Length), append(frames, frame)
		}
	}
	open := p.r.Open
	if len(list) == 0 && open == 0 {
		return
	}
	p.gap()
	longest := slices.Max(append([]time.Duration{0}, list...))
	if longest == 0 && open == 0 {
		p.line("gaps", fmt.Sprintf("all %d are 0: all token frames arrived at once", len(list)))
		return
	}
	s, end := spark(list, p.width-labelWidth-1), ""
	mark, at := s.longest, slices.Index(list, longest)
	if open > 0 {
		end = "✗"
	}
	if open > longest {
		mark, at = length(s.line), -1
	}
	p.raw("gaps", p.brush.paint(green, s.line)+p.brush.paint(red, end))
	p.raw("", strings.Repeat(" ", mark)+p.brush.paint(red, "▲"))
	if at >= 0 {
		at = frames[at]
	}
	p.line("", longestWords(p.r, at))
	if longest > 0 {
		p.line("", scaleWords(longest, s.per))
	}
}

// longestWords says where the gap before a token frame is; -1 is the one during which the probe failed.
func longestWords(r *probe.Result, frame int) string {
	tokens := r.Tokens
	if last := len(tokens) - 1; frame < 0 {
		return fmt.Sprintf("longest %s, from %s, after token frame %d: the probe failed during it",
			format.Duration(r.Open), format.Duration(tokens[last].At), last+1)
	}
	return fmt.Sprintf("longest %s, from %s, before token frame %d of %d",
		format.Duration(tokens[frame].At-tokens[frame-1].At), format.Duration(tokens[frame-1].At), frame+1, len(tokens))
}

func scaleWords(longest time.Duration, per int) string {
	words := "█ is " + format.Duration(longest) + ", ▁ less than " + format.Duration(longest/time.Duration(len(levels)))
	if per > 1 {
		words += fmt.Sprintf("; a column is the longest of %d gaps", per)
	}
	return words
}

// accounts writes tokens, frames and warnings.
func (p *printer) accounts() {
	r := p.r
	p.gap()
	p.line("usage", fmt.Sprintf("prompt %s, cached %s, output %s, reasoning %s",
		count(r.Usage.Prompt), count(r.Usage.Cached), count(r.Usage.Generated()), count(r.Usage.Reasoning)))
	if n := len(r.Tokens); n > 0 {
		p.line("frames", fmt.Sprintf("%s, %d coalesced with the previous one", format.Count(n, "token frame"), r.Coalesced()))
		p.line("tokens", sourceWords(r.Source))
	}
	if r.Stamp != "" {
		p.line("timestamps", timestampSource(r))
	}
	p.line("finish", finishWords(r.Finish))
	if r.TraceID != "" {
		p.line("trace", format.Clean(r.TraceID))
	}
	for _, w := range r.Warnings {
		p.line("warning", format.Clean(w.Error()))
	}
}

func count(c wire.Count) string {
	if !c.Known {
		return "unknown"
	}
	return fmt.Sprint(c.N)
}

func finishWords(finish string) string {
	if finish == "" {
		return "no finish reason"
	}
	return "finish reason " + format.Clean(finish)
}

// timestampSource says who timed the arrivals, and how late they were read.
func timestampSource(r *probe.Result) string {
	if r.Stamp == probe.ByUser {
		return "user space: a delay of the prober looks like one of the server"
	}
	words := "kernel"
	if d, ok := r.MaxReadDelay(); ok {
		words += ", read at most " + format.Duration(d) + " later"
	}
	return words
}

// sourceWords says how the tokens of a frame are known.
func sourceWords(s probe.Source) string {
	switch s {
	case probe.FromUsage:
		return "counted in each frame (usage)"
	case probe.FromIDs:
		return "counted in each frame (token ids)"
	case probe.FromTotal:
		return "one per frame: as many frames as tokens"
	}
	return "unknown per frame: the server sends neither usage nor token ids"
}

// verdict is the last line: what it came to, and what to do.
func (p *printer) verdict() {
	r := p.r
	p.gap()
	if r.Outcome == probe.OK {
		words := p.brush.paint(green, "ok") + ": " + Meaning(probe.OK)
		if n := r.Usage.Generated(); n.Known {
			words += ", " + format.Count(n.N, "token")
		}
		if d, ok := r.E2EL(); ok {
			words += " in " + format.Duration(d)
		}
		p.line("verdict", words)
		return
	}
	words := p.brush.paint(outcomePaint(r.Outcome), string(r.Outcome))
	if hint := Hint(r); hint != "" {
		words += ": " + hint
	} else {
		words += ": " + Meaning(r.Outcome)
	}
	p.line("verdict", words)
}
