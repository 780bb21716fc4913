package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

const (
	labelWidth = 13 // "first token" and its indent
	valueWidth = 10 // "12.3 ms" and what is around it
)

// Waterfall writes one probe for people to read, in lines of at most width columns where words allow. Texts that a
// server wrote are stripped of control characters.
func Waterfall(out io.Writer, a *ResultJSON, width int) error {
	w := &waterfall{printer: &printer{width: width}, a: a}
	w.headline()
	w.phases()
	w.latencies()
	w.accounts()
	return write(out, w.String())
}

type waterfall struct {
	*printer

	a *ResultJSON
}

// line writes a label and a text, if there is one, which goes on below itself where it is too long.
func (w *waterfall) line(label, text string) {
	if text != "" {
		w.wrap(fmt.Sprintf("%-*s", labelWidth, "  "+label), format.Clean(text))
	}
}

// blank begins a part, unless the one before it is empty.
func (w *waterfall) blank() {
	if !strings.HasSuffix(w.String(), "\n\n") {
		w.WriteString("\n")
	}
}

func (w *waterfall) raw(label, text string) {
	w.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", labelWidth, "  "+label, text), " ") + "\n")
}

func (w *waterfall) headline() {
	a := w.a
	outcome := string(a.Outcome)
	if a.Outcome != probe.OK && a.Elapsed > 0 {
		outcome += " after " + format.Seconds(a.Elapsed)
	}
	w.wrap("", format.Clean(a.Target+" "+outcome))
	prompt := strings.TrimPrefix(a.Prompt+" prompt", " prompt")
	w.line("", strings.Join(known(orEmpty(a.Model), orEmpty(a.API), prompt), ", "))
	w.line("error", orEmpty(a.Error))
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (w *waterfall) phases() {
	list := Phases(w.a)
	if len(list) == 0 || list[len(list)-1].To == 0 {
		return
	}
	w.blank()
	if w.a.Phases.Write != nil && w.a.Phases.Connect == nil {
		w.line("connection", "reused: no DNS, connect or TLS phase")
	}
	cells, end := w.width-labelWidth-valueWidth, list[len(list)-1].To
	for _, p := range list {
		w.raw(p.Name, fmt.Sprintf("%*s  %s", valueWidth-2, format.Seconds(p.To-p.From), phaseBar(p, end, cells)))
	}
	w.raw("", fmt.Sprintf("%*s%*s", valueWidth+1, "0", cells-1, format.Seconds(end)))
}

var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// phaseBar draws a phase on an axis of the given cells that ends at limit. The bar begins at a whole cell and is at least a
// sliver wide, so that nothing that happened is invisible.
func phaseBar(p Phase, limit float64, cells int) string {
	scale := float64(cells) / limit
	start := min(int(p.From*scale), cells-1)
	end := int(p.To*scale*8 + 0.5)
	width := min(max(end-start*8, 1), (cells-start)*8)
	return strings.Repeat(" ", start) + strings.Repeat("█", width/8) + eighths[width%8]
}

// latencies tells the numbers that the metrics get, draws the gaps between token frames, and says why an answer has no number.
func (w *waterfall) latencies() {
	a, server := w.a, ""
	w.blank()
	if a.ServerTTFT != nil {
		server = ", server TTFT " + format.Seconds(*a.ServerTTFT)
	}
	w.latency("TTFT", a.TTFT, server)
	if a.TTFT != nil && a.TTFAT != nil && *a.TTFAT > *a.TTFT {
		w.latency("TTFAT", a.TTFAT, ", the first token of the answer, after its reasoning")
	}
	w.latency("TPOT", a.TPOT, "")
	if list := slices.Sorted(slices.Values(a.ITL)); len(list) > 0 {
		w.line("ITL", fmt.Sprintf("median %s, p99 %s, max %s over %s", format.Seconds(QuantileOf(list, 0.5)),
			format.Seconds(QuantileOf(list, 0.99)), format.Seconds(list[len(list)-1]), format.Count(len(list), "token")))
	}
	w.latency("max gap", a.MaxGap, GapPlace(a))
	w.gaps()
	w.latency("E2EL", a.E2EL, "")
	for _, lacking := range []struct {
		name string
		is   bool
	}{{"TPOT", a.TPOT == nil}, {"ITL", len(a.ITL) == 0}, {"max gap", a.MaxGap == nil}} {
		if lacking.is && a.Frames > 0 {
			w.line("no "+lacking.name, missing(a, lacking.name))
		}
	}
}

func (w *waterfall) latency(name string, seconds *float64, more string) {
	if seconds != nil {
		w.line(name, format.Seconds(*seconds)+more)
	}
}

func missing(a *ResultJSON, name string) string {
	tpot, itl, counted := name == "TPOT", name == "ITL", a.Usage.Output != nil && a.TokenSource != probe.FromNothing
	switch {
	case a.Frames == 1 && a.Usage.Output != nil && *a.Usage.Output == 1:
		return "the answer has a single token"
	case a.Frames == 1:
		return "all tokens arrived in a single frame"
	case (tpot || itl) && counted && a.JoinedTokens == 0 && a.TPOT == nil && len(a.ITL) == 0:
		return "all tokens arrived at once"
	case itl && a.Taint == nil, tpot && (a.Usage.Output == nil || a.JoinedTokens == 0):
		return "how many tokens the frames carry is unknown"
	case name == "max gap":
		return "the prober read too late; a longer gap may be hidden"
	}
	return "the prober read too late"
}

// gaps draws the gaps between token frames as a sparkline, with a mark below the longest; one that was open is a sign at the end.
func (w *waterfall) gaps() {
	var list []float64
	column := 0
	_, longest, found := LongestGap(w.a)
	for frame, gap := range w.a.Gaps() {
		if frame == longest {
			column = len(list)
		}
		list = append(list, gap)
	}
	line, each := spark(list, w.width-labelWidth-1)
	column /= each
	if found && longest == len(w.a.Arrivals) {
		column = length(line)
		line += "✗"
	}
	if line != "" {
		w.raw("gaps", line)
	}
	if found {
		w.raw("", strings.Repeat(" ", column)+"▲")
	}
}

var levels = []rune("▁▂▃▄▅▆▇█")

// spark draws values in at most the given cells, each the longest of as many values, at proportional heights.
func spark(values []float64, cells int) (line string, each int) {
	top := slices.Max(append(values, math.SmallestNonzeroFloat64))
	each = max(1, (len(values)+cells-1)/cells)
	for bin := range slices.Chunk(values, each) {
		level := int(slices.Max(bin) / top * float64(len(levels)))
		line += string(levels[min(max(0, level), len(levels)-1)]) // JSON may hold anything
	}
	return line, each
}

var sources = map[probe.Source]string{
	probe.FromUsage:   "counted in each frame (usage)",
	probe.FromIDs:     "counted in each frame (token ids, or one in each by the server's type)",
	probe.FromTotal:   "one per frame: as many frames as tokens",
	probe.FromNothing: "unknown per frame: not every frame tells its count (by usage or token ids)",
}

// sourceOf says where the tokens of a frame came from.
func sourceOf(a *ResultJSON) string {
	if a.TokenSource == probe.FromTotal && a.Usage.Output != nil && *a.Usage.Output == a.Frames+1 {
		return "one per frame, and one that no frame showed: the end of the answer"
	}
	return sources[a.TokenSource]
}

// accounts writes tokens, frames and warnings, and the verdict: what it came to, and what to do.
func (w *waterfall) accounts() {
	a, u := w.a, w.a.Usage
	w.blank()
	var counts []string
	if a.Cache == probe.CacheUnknown { // a 0 that is no count
		u.Cached = nil
	}
	for i, n := range []*int{u.Prompt, u.Cached, u.Output, u.Reasoning} {
		if n != nil {
			counts = append(counts, []string{"prompt ", "cached ", "output ", "reasoning "}[i]+format.Grouped(*n))
		}
	}
	w.line("usage", strings.Join(counts, ", "))
	if a.Frames > 0 {
		w.line("frames", fmt.Sprintf("%s, %d coalesced with the previous one", format.Count(a.Frames, "token frame"), a.Coalesced))
		w.line("tokens", sourceOf(a))
	}
	if a.Stamp != nil && *a.Stamp == probe.ByUser {
		w.line("timestamps", "user space: a delay of the prober looks like one of the server")
	} else if a.ReadDelay != nil {
		w.line("timestamps", "kernel, read at most "+format.Seconds(*a.ReadDelay)+" later")
	}
	w.line("finish", orEmpty(a.FinishReason))
	w.line("started", a.Start.UTC().Format(time.DateTime)+" UTC")
	w.line("trace", a.TraceID)
	for _, warning := range a.Warnings {
		w.line("warning", warning)
	}
	words := cmp.Or(orEmpty(a.Hint), "complete response")
	if a.Outcome == probe.Canceled {
		words = "the prober shut down; not counted"
	}
	if a.Outcome == probe.OK && u.Output != nil {
		words += ", " + format.Count(*u.Output, "token")
	}
	if a.E2EL != nil {
		words += " in " + format.Seconds(*a.E2EL)
	}
	w.blank()
	w.line("verdict", string(a.Outcome)+": "+words)
}
