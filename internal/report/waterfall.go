package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
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
	w.accounts()
	return write(out, w.String())
}

// A waterfall gathers the text of one probe.
type waterfall struct {
	*printer

	r *probe.Result
}

// line writes a label and a text, which goes on below itself where it is too
// long.
func (w *waterfall) line(label, text string) {
	w.wrap(fmt.Sprintf("%-*s", labelWidth, "  "+label), format.Clean(text))
}

// raw writes a label and a text as they are.
func (w *waterfall) raw(label, text string) {
	w.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", labelWidth, "  "+label, text), " ") + "\n")
}

// headline names the target and its outcome; of a failure also the error.
func (w *waterfall) headline() {
	r := w.r
	w.wrap("", format.Clean(r.Target)+" "+string(r.Outcome))
	prompt := r.Prompt
	if prompt != "" {
		prompt += " prompt"
	}
	if what := known(r.Model, r.API, prompt); len(what) > 0 {
		w.line("", strings.Join(what, ", "))
	}
	if r.Err != nil {
		w.line("error", r.Err.Error())
	}
}

// phases draws the phases that a probe reached on one axis, in their order. The last one of a
// failed probe is the wait until it failed.
func (w *waterfall) phases() {
	type phase struct {
		label    string
		from, to time.Duration
	}
	var list []phase
	at := time.Duration(0)
	until := func(reached bool, label string, to time.Duration) {
		if reached {
			list = append(list, phase{label, at, max(at, to)})
			at = max(at, to)
		}
	}
	r, p, tokens := w.r, w.r.Phases, w.r.Tokens
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
	if at == 0 {
		return
	}
	w.WriteString("\n")
	if p.Reused {
		w.line("connection", "reused: no DNS, connect or TLS phase")
	}
	cells := w.width - labelWidth - valueWidth
	for _, ph := range list {
		w.raw(ph.label, fmt.Sprintf("%*s  %s", valueWidth-2, format.Duration(ph.to-ph.from), span(ph.from, ph.to, at, cells)))
	}
	w.raw("", fmt.Sprintf("%*s%*s", valueWidth+1, "0", cells-1, format.Duration(at)))
}

// eighths are blocks that fill a cell from the left.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// span draws from..to on an axis of the given cells that ends at limit. It
// begins at a whole cell and is at least a sliver wide, so that nothing that
// happened is invisible.
func span(from, to, limit time.Duration, cells int) string {
	scale := float64(cells) / float64(limit)
	start := min(int(float64(from)*scale), cells-1)
	end := int(float64(to)*scale*8 + 0.5)
	width := min(max(end-start*8, 1), (cells-start)*8)
	return strings.Repeat(" ", start) + strings.Repeat("█", width/8) + eighths[width%8]
}

// latencies tells the numbers that the metrics get, or why there is none, and draws the gaps
// between token frames.
func (w *waterfall) latencies() {
	r := w.r
	w.WriteString("\n")
	first, ok := r.TTFT()
	text := format.Duration(first)
	if server, known := r.ServerTTFT(); known {
		text += ", server TTFT " + format.Duration(server)
	}
	w.latency("TTFT", text, ok)
	if answer, ok := r.TTFAT(); ok && answer > first {
		w.line("TTFAT", format.Duration(answer)+", the first token of the answer, after its reasoning")
	}
	tpot, ok := r.TPOT()
	w.latency("TPOT", format.Duration(tpot), ok)
	list := slices.Sorted(r.ITL())
	if ok = len(list) > 0; ok {
		text = fmt.Sprintf("median %s, p99 %s, max %s over %s", format.Duration(QuantileOf(list, 0.5)),
			format.Duration(QuantileOf(list, 0.99)), format.Duration(list[len(list)-1]), format.Count(len(list), "token"))
	}
	w.latency("ITL", text, ok)
	gap, ok := r.MaxGap()
	text = format.Duration(gap) + ", still open when the probe failed"
	var gaps []time.Duration
	for frame, s := range r.Spans() {
		if !s.Gap {
			continue
		}
		if gaps = append(gaps, s.Length); s.Length == gap {
			text = fmt.Sprintf("%s, before token frame %d of %d", format.Duration(gap), frame+1, len(r.Tokens))
		}
	}
	w.latency("max gap", text, ok)
	line := spark(gaps, w.width-labelWidth-1)
	if r.Open > 0 { // a mark, since it may be too long for the scale of the others
		line += "✗"
	}
	if line != "" {
		w.raw("gaps", line)
	}
	e2el, ok := r.E2EL()
	w.latency("E2EL", format.Duration(e2el), ok)
}

func (w *waterfall) latency(name, text string, ok bool) {
	if !ok {
		text = "none: " + missing(w.r, name)
	}
	w.line(name, text)
}

// together reports whether all tokens of an answer arrived together.
func together(r *probe.Result) bool { return len(r.Tokens) > 1 && len(r.Tokens) == r.Bursts()+1 }

// missing is why a result lacks a number.
func missing(r *probe.Result, name string) string {
	tpot, itl := name == "TPOT", name == "ITL"
	switch {
	case name == "E2EL" && r.Outcome != probe.OK:
		return "the probe failed after " + format.Duration(r.Elapsed)
	case len(r.Tokens) == 0:
		return "no token arrived"
	case len(r.Tokens) == 1 && (tpot || itl || name == "max gap"):
		return "all tokens arrived in a single frame"
	case (tpot || itl) && together(r):
		return "all tokens arrived at once"
	case itl && r.Taint == "", tpot && (!r.Usage.Generated().Known || r.Hidden):
		return "how many tokens the frames carry is unknown"
	case name == "max gap":
		return "the prober read too late; a longer gap may be hidden"
	}
	return "the prober read too late"
}

// levels are the heights of a sparkline.
var levels = []rune("▁▂▃▄▅▆▇█")

// spark draws values in at most the given cells, of which each is the longest of as many
// values. The longest of all is as high as can be, and heights are proportional.
func spark(values []time.Duration, cells int) (line string) {
	top := float64(max(1, slices.Max(append(values, 0))))
	for bin := range slices.Chunk(values, max(1, (len(values)+cells-1)/cells)) {
		level := int(float64(slices.Max(bin)) / top * float64(len(levels)))
		line += string(levels[min(level, len(levels)-1)])
	}
	return line
}

// sources say how the tokens of a frame are known.
var sources = map[probe.Source]string{
	probe.FromUsage:   "counted in each frame (usage)",
	probe.FromIDs:     "counted in each frame (token ids)",
	probe.FromTotal:   "one per frame: as many frames as tokens",
	probe.FromNothing: "unknown per frame: the server sends neither usage nor token ids",
}

// accounts writes tokens, frames and warnings, and the verdict: what it came to, and what to do.
func (w *waterfall) accounts() {
	r := w.r
	w.WriteString("\n")
	output := r.Usage.Generated()
	w.line("usage", fmt.Sprintf("prompt %s, cached %s, output %s, reasoning %s",
		tokens(r.Usage.Prompt), tokens(r.Usage.Cached), tokens(output), tokens(r.Usage.Reasoning)))
	if n := len(r.Tokens); n > 0 {
		w.line("frames", fmt.Sprintf("%s, %d coalesced with the previous one", format.Count(n, "token frame"), r.Coalesced()))
		w.line("tokens", sources[r.Source])
	}
	if delay, ok := r.MaxReadDelay(); r.Stamp == probe.ByUser {
		w.line("timestamps", "user space: a delay of the prober looks like one of the server")
	} else if ok {
		w.line("timestamps", "kernel, read at most "+format.Duration(delay)+" later")
	}
	w.line("finish", cmp.Or(r.Finish, "no finish reason"))
	if r.TraceID != "" {
		w.line("trace", r.TraceID)
	}
	for _, warning := range r.Warnings {
		w.line("warning", warning.Error())
	}
	words := cmp.Or(Hint(r), "complete response")
	if r.Outcome == probe.Canceled {
		words = "the prober shut down; not counted"
	}
	if r.Outcome == probe.OK && output.Known {
		words += ", " + format.Count(output.N, "token")
	}
	if d, ok := r.E2EL(); ok {
		words += " in " + format.Duration(d)
	}
	w.WriteString("\n")
	w.line("verdict", string(r.Outcome)+": "+words)
}
