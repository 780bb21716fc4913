package report

import (
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// latencies tells the numbers that the metrics get, or why there is none.
func (w *waterfall) latencies() {
	r := w.r
	w.gap()
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
	if ok = len(list) > 0 && r.Taint == "" && !together(r); ok {
		text = fmt.Sprintf("median %s, p99 %s, max %s over %s", format.Duration(QuantileOf(list, 0.5)),
			format.Duration(QuantileOf(list, 0.99)), format.Duration(list[len(list)-1]), format.Count(len(list), "token"))
	}
	w.latency("ITL", text, ok)
	gap, ok := r.MaxGap()
	text = format.Duration(gap)
	if r.Open > 0 && gap == r.Open {
		text += ", still open when the probe failed"
	}
	w.latency("max gap", text, ok)
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
	const late = "the prober read too late"
	frames, tpot, itl := len(r.Tokens), name == "TPOT", name == "ITL"
	switch {
	case name == "E2EL" && r.Outcome != probe.OK:
		return "the probe failed after " + format.Duration(r.Elapsed)
	case frames == 0:
		return "no token arrived"
	case tpot && !r.Usage.Generated().Known:
		return "the server did not report how many tokens it generated"
	case tpot && r.Hidden:
		return "some tokens are hidden reasoning"
	case tpot && frames == 1 && r.Finish == "" && r.Outcome != probe.OK:
		return "the answer broke off after its first token frame"
	case tpot && frames == 1:
		return "all tokens arrived in the first frame"
	case frames == 1 && (itl || name == "max gap"):
		return "a single token frame has no gap"
	case itl && r.Taint != "":
		return late
	case (tpot || itl) && together(r):
		return "all tokens arrived at once"
	case itl:
		return "how many tokens each frame carries is unknown"
	case name == "max gap":
		return late + "; a longer gap may be hidden"
	}
	return late
}
