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

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// phases draws each phase as a bar on an axis of time. A bar begins at a whole cell. It is at least an eighth of a cell
// wide, so that nothing that happened is invisible.
func (w *waterfall) phases() {
	list := Phases(w.result)
	if len(list) == 0 || list[len(list)-1].To == 0 {
		return
	}
	w.blank()
	if w.result.Phases.Write != nil && w.result.Phases.Connect == nil {
		w.line("connection", "reused: no DNS, connect or TLS phase")
	}
	const valueWidth = 10 // "12.3 ms" and the space around it
	eighths := []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}
	cells := w.width - labelWidth - valueWidth
	end := list[len(list)-1].To
	scale := float64(cells) / end
	for _, p := range list {
		left := min(int(p.From*scale), cells-1)
		right := int(p.To*scale*8 + 0.5) // in eighths
		length := min(max(right-left*8, 1), (cells-left)*8)
		bar := strings.Repeat(" ", left) + strings.Repeat("█", length/8) + eighths[length%8]
		w.drawing(p.Name, fmt.Sprintf("%*s  %s", valueWidth-2, format.Seconds(p.To-p.From), bar))
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
	if len(r.ITL) > 0 {
		sorted := slices.Sorted(slices.Values(r.ITL))
		w.line("ITL", fmt.Sprintf("median %s, p99 %s, max %s over %s",
			format.Seconds(stats.QuantileOf(sorted, stats.P50)), format.Seconds(stats.QuantileOf(sorted, stats.P99)),
			format.Seconds(sorted[len(sorted)-1]), format.Count(len(sorted), "token")))
	}
	w.latency("max gap", r.MaxGap, LongestGapPlace(r))
	w.gaps()
	w.latency("E2EL", r.E2EL, "")
	if r.Frames == 0 {
		return
	}
	if r.TPOT == nil {
		w.line("no TPOT", WhyNoTPOT(r))
	}
	if len(r.ITL) == 0 {
		w.line("no ITL", WhyNoITL(r))
	}
	if r.MaxGap == nil {
		w.line("no max gap", whyNoMaxGap(r))
	}
}

func (w *waterfall) latency(name string, seconds *float64, suffix string) {
	if seconds != nil {
		w.line(name, format.Seconds(*seconds)+suffix)
	}
}

// gaps draws the gaps between token frames as a sparkline, with a mark below the longest. A gap that was still open
// when the probe failed is a cross at the end.
func (w *waterfall) gaps() {
	var lengths []float64
	column := 0 // of the longest gap
	_, longest, found := LongestGap(w.result)
	for frame, length := range w.result.Gaps() {
		if frame == longest {
			column = len(lengths)
		}
		lengths = append(lengths, length)
	}
	line, gapsPerCell := sparkline(lengths, w.width-labelWidth-1)
	column /= gapsPerCell
	if found && longest == len(w.result.Arrivals) {
		column = columnsOf(line)
		line += "✗"
	}
	if line != "" {
		w.drawing("gaps", line)
	}
	if found {
		w.drawing("", strings.Repeat(" ", column)+"▲")
	}
}

// sparkline draws values at proportional heights, in at most this number of cells. If there are more values than cells,
// each cell shows the highest of valuesPerCell values.
func sparkline(values []float64, cells int) (line string, valuesPerCell int) {
	levels := []rune("▁▂▃▄▅▆▇█")
	highest := math.SmallestNonzeroFloat64 // not 0, by which it divides
	for _, v := range values {
		highest = max(highest, v)
	}
	valuesPerCell = max(1, (len(values)+cells-1)/cells)
	for cell := range slices.Chunk(values, valuesPerCell) {
		level := int(slices.Max(cell) / highest * float64(len(levels)))
		level = min(max(0, level), len(levels)-1) // JSON may hold negative values, too
		line += string(levels[level])
	}
	return line, valuesPerCell
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
		w.line("tokens", howTokensAreKnown(r))
	}
	if r.Wording != nil {
		words := fmt.Sprintf("%s of them distinct, %s of the text in one repeated token or phrase",
			format.Percent(r.Wording.Distinct), format.Percent(r.Wording.Repeated))
		if r.Wording.Replaced > 0 {
			words += fmt.Sprintf(", %s in characters that are none (U+FFFD)", format.Percent(r.Wording.Replaced))
		}
		w.line("words", words)
	}
}

// howTokensAreKnown says how it is known how many tokens each frame carries.
func howTokensAreKnown(r *ResultJSON) string {
	switch r.TokenSource {
	case probe.FromUsage:
		return "counted in each frame (usage)"
	case probe.FromIDs:
		return "counted in each frame (token ids, or one in each by the server's type)"
	case probe.FromTotal:
		if r.Usage.Output != nil && *r.Usage.Output == r.Frames+1 {
			return "one per frame, and one that no frame showed: the end of the answer"
		}
		return "one per frame: as many frames as tokens"
	case probe.FromNothing:
		return "unknown per frame: not every frame has its count (usage or token ids)"
	}
	return ""
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

// Why a probe with token frames lacks a value.
const (
	reasonAtOnce    = "all tokens arrived at once"
	reasonUncounted = "how many tokens the frames carry is unknown"
	reasonLate      = "the prober read too late"
)

// WhyNoTPOT says why a result with token frames has no TPOT, in words that follow a colon.
func WhyNoTPOT(r *ResultJSON) string {
	switch {
	case r.Frames == 1:
		return whyOneFrame(r)
	case arrivedAtOnce(r):
		return reasonAtOnce
	case r.Usage.Output == nil || r.JoinedTokens == 0:
		return reasonUncounted
	}
	return reasonLate
}

// WhyNoITL says why a result with token frames has no ITL, in words that follow a colon.
func WhyNoITL(r *ResultJSON) string {
	switch {
	case r.Frames == 1:
		return whyOneFrame(r)
	case arrivedAtOnce(r):
		return reasonAtOnce
	case r.Taint == nil:
		return reasonUncounted
	}
	return reasonLate
}

func whyNoMaxGap(r *ResultJSON) string {
	switch {
	case r.Frames == 1:
		return whyOneFrame(r)
	case r.JoinedTokens == 0:
		return reasonAtOnce
	}
	return reasonLate + "; a longer gap may be hidden"
}

func whyOneFrame(r *ResultJSON) string {
	if r.Usage.Output != nil && *r.Usage.Output == 1 {
		return "the answer has a single token"
	}
	return "all tokens arrived in a single frame"
}

// arrivedAtOnce reports whether the tokens of each frame are known, and yet there is no time between tokens: all
// arrived together, although the prober was not late.
func arrivedAtOnce(r *ResultJSON) bool {
	counted := r.Usage.Output != nil && r.TokenSource != probe.FromNothing
	return counted && r.JoinedTokens == 0 && r.TPOT == nil && len(r.ITL) == 0
}
