package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// latencies tells the numbers that the metrics get, or why there is none.
func (p *printer) latencies() {
	r := p.r
	p.gap()
	p.line("TTFT", ttft(r))
	if answer, ok := r.TTFAT(); ok && answer > firstOf(r) {
		p.line("TTFAT", format.Duration(answer)+", the first token of the answer, after its reasoning")
	}
	p.line("TPOT", tpot(r))
	p.line("ITL", itl(r))
	p.line("max gap", maxGap(r))
	p.line("E2EL", e2el(r))
}

func ttft(r *probe.Result) string {
	first, ok := r.TTFT()
	switch {
	case len(r.Tokens) == 0:
		return "none: no token arrived"
	case !ok:
		return readLate
	}
	if server, ok := r.ServerTTFT(); ok {
		return format.Duration(first) + ", server TTFT " + format.Duration(server)
	}
	return format.Duration(first)
}

func firstOf(r *probe.Result) time.Duration {
	first, _ := r.TTFT()
	return first
}

func tpot(r *probe.Result) string {
	d, ok := r.TPOT()
	n := r.Usage.Generated()
	switch {
	case ok:
		return format.Duration(d)
	case len(r.Tokens) == 0:
		return "none: no token arrived"
	case !n.Known:
		return "none: the server did not report how many tokens it generated"
	case r.Hidden:
		return "none: some tokens are hidden reasoning"
	case len(r.Tokens) == 1 && r.Finish == "" && r.Outcome != probe.OK:
		return "none: the answer broke off after its first token frame"
	case len(r.Tokens) == 1:
		return "none: all tokens arrived in the first frame"
	case len(r.Tokens) == r.Bursts()+1:
		return allAtOnce
	}
	return readLate
}

const (
	// readLate is why a number is missing whose arrival is uncertain.
	readLate = "none: the prober read too late"
	// allAtOnce is why an answer has no pace.
	allAtOnce = "none: all tokens arrived at once"
)

func itl(r *probe.Result) string {
	list := slices.Sorted(r.ITL())
	switch {
	case len(r.Tokens) == 0:
		return "none: no token arrived"
	case len(r.Tokens) == 1:
		return "none: a single token frame has no gap"
	case r.Taint != "":
		return readLate
	case len(r.Tokens) == r.Bursts()+1:
		return allAtOnce
	case len(list) == 0:
		return "none: how many tokens each frame carries is unknown"
	}
	return fmt.Sprintf("median %s, p99 %s, max %s over %s",
		format.Duration(QuantileOf(list, 0.5)), format.Duration(QuantileOf(list, 0.99)), format.Duration(list[len(list)-1]), format.Count(len(list), "token"))
}

func maxGap(r *probe.Result) string {
	d, ok := r.MaxGap()
	switch {
	case ok && r.Open > 0 && d == r.Open:
		return format.Duration(d) + ", still open when the probe failed"
	case ok:
		return format.Duration(d)
	case len(r.Tokens) == 0:
		return "none: no token arrived"
	case len(r.Tokens) > 1:
		return readLate + "; a longer gap may be hidden"
	}
	return "none: a single token frame has no gap"
}

func e2el(r *probe.Result) string {
	if d, ok := r.E2EL(); ok {
		return format.Duration(d)
	}
	if r.Outcome == probe.OK {
		return readLate
	}
	return "none: the probe failed after " + format.Duration(r.Elapsed)
}
