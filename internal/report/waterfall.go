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
	labelWidth = 13 // "first token" and its indent
	valueWidth = 10 // "12.3 ms" and what is around it
)

// Waterfall writes one probe for people to read, in lines of at most width
// columns (0: 80; 40 at least) where words allow. Texts that a server
// wrote are stripped of control characters. The error is that of w.
func Waterfall(out io.Writer, r *probe.Result, width int) error {
	w := &waterfall{printer: newPrinter(width), r: r}
	w.headline()
	w.phases()
	w.latencies()
	w.gaps()
	w.accounts()
	w.verdict()
	return write(out, w.text.String())
}

// A waterfall gathers the text of one probe.
type waterfall struct {
	*printer

	r *probe.Result
}

// line writes a label and a text, which goes on below itself where it is too
// long.
func (w *waterfall) line(label, text string) { w.wrap(w.label(label), text) }

// raw writes a label and a text as they are.
func (w *waterfall) raw(label, text string) {
	w.put(strings.TrimRight(w.label(label)+text, " ") + "\n")
}

func (w *waterfall) label(text string) string {
	return pad("  "+text, labelWidth)
}

// headline names the target and its outcome; of a failure also the error.
func (w *waterfall) headline() {
	r := w.r
	words := format.Clean(r.Target) + "  " + string(r.Outcome)
	if r.Outcome != probe.OK {
		words += ": " + Meaning(r.Outcome)
	}
	w.wrap("", words)
	prompt := format.Clean(r.Prompt)
	if prompt != "" {
		prompt += " prompt"
	}
	if what := known(format.Clean(r.Model), format.Clean(r.API), prompt); len(what) > 0 {
		w.line("", strings.Join(what, ", "))
	}
	if r.Err != nil {
		w.line("error", format.Clean(r.Err.Error()))
	}
}

// A phase is a bar of the waterfall.
type phase struct {
	label    string
	from, to time.Duration
}

// phasesOf are the phases that a probe reached, in their order. The last one of a
// failed probe is the wait until it failed.
func phasesOf(r *probe.Result) []phase {
	var list []phase
	at := time.Duration(0)
	until := func(reached bool, label string, to time.Duration) {
		if reached {
			list = append(list, phase{label, at, max(at, to)})
			at = max(at, to)
		}
	}
	p, tokens := r.Phases, r.Tokens
	until(p.DNS > 0, "dns", at+p.DNS)
	until(p.Connect > 0, "connect", at+p.Connect)
	until(p.TLS > 0, "tls", at+p.TLS)
	until(p.Wrote > 0, "write", p.Wrote)
	until(p.Header > 0, "wait", p.Header)
	if len(tokens) > 0 {
		end := max(tokens[len(tokens)-1].At, r.Timeline.Finish)
		until(true, "first token", tokens[0].At)
		until(end > at, "decode", end)
	}
	until(r.Outcome != probe.OK && r.Elapsed > at, "to failure", r.Elapsed)
	return list
}

// phases draws them on one axis.
func (w *waterfall) phases() {
	list := phasesOf(w.r)
	if len(list) == 0 {
		return
	}
	w.gap()
	if w.r.Phases.Reused {
		w.line("connection", "reused: no DNS, connect or TLS phase")
	}
	limit, cells := list[len(list)-1].to, w.width-labelWidth-valueWidth
	for _, ph := range list {
		value := padLeft(format.Duration(ph.to-ph.from), valueWidth-2) + "  "
		w.raw(ph.label, value+span(ph.from, ph.to, limit, cells))
	}
	w.raw("", strings.Repeat(" ", valueWidth)+axis(limit, cells))
}

// gaps draws the gaps between token frames. The one during which the probe failed is a
// mark at the end: it may be too long for the scale of the others.
func (w *waterfall) gaps() {
	var list []time.Duration
	var frames []int // before which they are
	for frame, s := range w.r.Spans() {
		if s.Gap {
			list, frames = append(list, s.Length), append(frames, frame)
		}
	}
	open := w.r.Open
	if len(list) == 0 && open == 0 {
		return
	}
	w.gap()
	longest := slices.Max(append([]time.Duration{0}, list...))
	if longest == 0 && open == 0 {
		w.line("gaps", fmt.Sprintf("all %d are 0: all token frames arrived at once", len(list)))
		return
	}
	s, end := spark(list, w.width-labelWidth-1), ""
	mark, frame := s.longest, -1
	if open > 0 {
		end = "✗"
	}
	if open > longest {
		mark = length(s.line)
	} else {
		frame = frames[slices.Index(list, longest)]
	}
	w.raw("gaps", s.line+end)
	w.raw("", strings.Repeat(" ", mark)+"▲")
	w.line("", longestWords(w.r, frame))
	if longest > 0 {
		words := "█ is " + format.Duration(longest) + ", ▁ less than " + format.Duration(longest/time.Duration(len(levels)))
		if s.per > 1 {
			words += fmt.Sprintf("; a column is the longest of %d gaps", s.per)
		}
		w.line("", words)
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

// sources say how the tokens of a frame are known.
var sources = map[probe.Source]string{
	probe.FromUsage:   "counted in each frame (usage)",
	probe.FromIDs:     "counted in each frame (token ids)",
	probe.FromTotal:   "one per frame: as many frames as tokens",
	probe.FromNothing: "unknown per frame: the server sends neither usage nor token ids",
}

// accounts writes tokens, frames and warnings.
func (w *waterfall) accounts() {
	r := w.r
	w.gap()
	w.line("usage", fmt.Sprintf("prompt %s, cached %s, output %s, reasoning %s",
		count(r.Usage.Prompt), count(r.Usage.Cached), count(r.Usage.Generated()), count(r.Usage.Reasoning)))
	if n := len(r.Tokens); n > 0 {
		w.line("frames", fmt.Sprintf("%s, %d coalesced with the previous one", format.Count(n, "token frame"), r.Coalesced()))
		w.line("tokens", sources[r.Source])
	}
	switch delay, ok := r.MaxReadDelay(); {
	case r.Stamp == probe.ByUser:
		w.line("timestamps", "user space: a delay of the prober looks like one of the server")
	case r.Stamp != "" && ok:
		w.line("timestamps", "kernel, read at most "+format.Duration(delay)+" later")
	case r.Stamp != "":
		w.line("timestamps", "kernel")
	}
	finish := "no finish reason"
	if r.Finish != "" {
		finish = "finish reason " + format.Clean(r.Finish)
	}
	w.line("finish", finish)
	if r.TraceID != "" {
		w.line("trace", format.Clean(r.TraceID))
	}
	for _, warning := range r.Warnings {
		w.line("warning", format.Clean(warning.Error()))
	}
}

func count(c wire.Count) string {
	if !c.Known {
		return "unknown"
	}
	return fmt.Sprint(c.N)
}

// verdict is the last line: what it came to, and what to do.
func (w *waterfall) verdict() {
	r, words := w.r, Hint(w.r)
	if words == "" {
		words = Meaning(r.Outcome)
	}
	if n := r.Usage.Generated(); r.Outcome == probe.OK && n.Known {
		words += ", " + format.Count(n.N, "token")
	}
	if d, ok := r.E2EL(); ok {
		words += " in " + format.Duration(d)
	}
	w.gap()
	w.line("verdict", string(r.Outcome)+": "+words)
}
