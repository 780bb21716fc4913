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
	"github.com/llm-prober/prober/internal/stats"
)

// Waterfall writes one probe for people: its phases as bars, its latencies, the gaps between its frames, and its
// outcome. Lines have at most width columns, unless a single word is longer. Control characters in texts of the server
// are left out.
func Waterfall(out io.Writer, r *ResultJSON, width int) error {
	w := &waterfall{printer: &printer{width: width}, result: r}
	w.headline()
	w.phases()
	w.latencies()
	w.counts()
	w.circumstances()
	w.verdict()
	return write(out, w.String())
}

// A waterfall gathers the lines of a [Waterfall].
type waterfall struct {
	*printer

	result *ResultJSON
}

// labelWidth is the width of the first column: "first token" and its indent.
const labelWidth = 13

// line adds a label and a text, which is wrapped. It adds nothing if the text is empty.
func (w *waterfall) line(label, text string) {
	if text != "" {
		w.wrap(fmt.Sprintf("%-*s", labelWidth, "  "+label), format.Clean(text))
	}
}

// drawing adds a label and something drawn, which is not wrapped.
func (w *waterfall) drawing(label, text string) {
	line := fmt.Sprintf("%-*s%s", labelWidth, "  "+label, text)
	w.WriteString(strings.TrimRight(line, " ") + "\n")
}

// blank adds an empty line, unless there is one already.
func (w *waterfall) blank() {
	if !strings.HasSuffix(w.String(), "\n\n") {
		w.WriteString("\n")
	}
}

// headline adds the target, the outcome, and how it was asked.
func (w *waterfall) headline() {
	r := w.result
	outcome := string(r.Outcome)
	if r.Outcome != probe.OK && r.Elapsed > 0 {
		outcome += " after " + format.Seconds(r.Elapsed)
	}
	w.wrap("", format.Clean(r.Target+" "+outcome))
	prompt := strings.TrimPrefix(r.Prompt+" prompt", " prompt") // nothing without a name
	w.line("", strings.Join(nonEmpty(orEmpty(r.Model), orEmpty(r.API), prompt), ", "))
	w.line("error", orEmpty(r.Error))
}

// orEmpty returns the text, or an empty one if it is unknown.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// phases draws each phase as a bar on an axis of time.
func (w *waterfall) phases() {
	list := Phases(w.result)
	if len(list) == 0 || list[len(list)-1].To == 0 {
		return
	}
	const valueWidth = 10 // "12.3 ms" and the space around it
	w.blank()
	if w.result.Phases.Write != nil && w.result.Phases.Connect == nil {
		w.line("connection", "reused: no DNS, connect or TLS phase")
	}
	cells := w.width - labelWidth - valueWidth
	end := list[len(list)-1].To
	for _, p := range list {
		length := format.Seconds(p.To - p.From)
		w.drawing(p.Name, fmt.Sprintf("%*s  %s", valueWidth-2, length, phaseBar(p, end, cells)))
	}
	w.drawing("", fmt.Sprintf("%*s%*s", valueWidth+1, "0", cells-1, format.Seconds(end)))
}

// latencies adds the values that are recorded in metrics, draws the gaps between token frames, and says why a value is
// missing.
func (w *waterfall) latencies() {
	r := w.result
	w.blank()
	server := ""
	if r.ServerTTFT != nil {
		server = ", server TTFT " + format.Seconds(*r.ServerTTFT)
	}
	w.latency("TTFT", r.TTFT, server)
	if r.TTFT != nil && r.TTFAT != nil && *r.TTFAT > *r.TTFT {
		w.latency("TTFAT", r.TTFAT, ", the first token of the answer, after its reasoning")
	}
	w.latency("TPOT", r.TPOT, "")
	w.itl()
	w.latency("max gap", r.MaxGap, LongestGapPlace(r))
	w.gaps()
	w.latency("E2EL", r.E2EL, "")
	if r.Frames == 0 {
		return
	}
	if r.TPOT == nil {
		w.line("no TPOT", whyNoTPOT(r))
	}
	if len(r.ITL) == 0 {
		w.line("no ITL", whyNoITL(r))
	}
	if r.MaxGap == nil {
		w.line("no max gap", whyNoMaxGap(r))
	}
}

// latency adds a value, if it is known, and a text that follows it.
func (w *waterfall) latency(name string, seconds *float64, suffix string) {
	if seconds != nil {
		w.line(name, format.Seconds(*seconds)+suffix)
	}
}

// itl adds how the ITL of all tokens is spread.
func (w *waterfall) itl() {
	sorted := slices.Sorted(slices.Values(w.result.ITL))
	if len(sorted) == 0 {
		return
	}
	w.line("ITL", fmt.Sprintf("median %s, p99 %s, max %s over %s",
		format.Seconds(stats.QuantileOf(sorted, stats.P50)), format.Seconds(stats.QuantileOf(sorted, stats.P99)),
		format.Seconds(sorted[len(sorted)-1]), format.Count(len(sorted), "token")))
}

// counts adds how many tokens and frames there were, and how the tokens of a frame are known.
func (w *waterfall) counts() {
	r := w.result
	w.blank()
	var counts []string
	add := func(name string, n *int) {
		if n != nil {
			counts = append(counts, name+" "+format.Grouped(*n))
		}
	}
	add("prompt", r.Usage.Prompt)
	if r.Cache != probe.CacheUnknown { // else a 0 means that the server does not count
		add("cached", r.Usage.Cached)
	}
	add("output", r.Usage.Output)
	add("reasoning", r.Usage.Reasoning)
	w.line("usage", strings.Join(counts, ", "))
	if r.Frames > 0 {
		frames := format.Count(r.Frames, "token frame")
		w.line("frames", fmt.Sprintf("%s, %d coalesced with the previous one", frames, r.Coalesced))
		w.line("tokens", tokenSourceText(r))
	}
}

// circumstances adds how arrivals were timed, how the answer ended, when the probe started, its trace, and warnings.
func (w *waterfall) circumstances() {
	r := w.result
	if r.Timestamps != nil && *r.Timestamps == probe.ByUser {
		w.line("timestamps", "user space: a delay of the prober looks like one of the server")
	} else if r.ReadDelay != nil {
		w.line("timestamps", "kernel, read at most "+format.Seconds(*r.ReadDelay)+" later")
	}
	w.line("finish", orEmpty(r.FinishReason))
	w.line("started", r.Start.UTC().Format(time.DateTime)+" UTC")
	w.line("trace", r.TraceID)
	for _, warning := range r.Warnings {
		w.line("warning", warning)
	}
}

// verdict adds the outcome, with what was answered or what to do.
func (w *waterfall) verdict() {
	r := w.result
	words := cmp.Or(orEmpty(r.Hint), "complete response")
	if r.Outcome == probe.Canceled {
		words = cmp.Or(orEmpty(r.Hint), "the prober shut down") + "; not counted"
	}
	if r.Outcome == probe.OK && r.Usage.Output != nil {
		words += ", " + format.Count(*r.Usage.Output, "token")
	}
	if r.E2EL != nil {
		words += " in " + format.Seconds(*r.E2EL)
	}
	w.blank()
	w.line("verdict", string(r.Outcome)+": "+words)
}
