package report

import (
	"fmt"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// RequestLine is one request in one line without its end, the target's name
// filled up to so many columns.
func RequestLine(s Sample, names int) string {
	head := fmt.Sprintf("%s %s %s ", s.Start.Format("15:04:05"), padLeft(fmt.Sprintf("#%d", s.Round), 5), pad(format.Clean(s.Target), names))
	if s.Outcome != probe.OK {
		return fmt.Sprintf("%s%s after %s: %s", head, s.Outcome, format.Duration(s.Elapsed), Meaning(s.Outcome))
	}
	parts := []string{
		pad(string(s.Outcome), 2),
		padLeft(tokenCount(s.Prompt), 7) + " → " + pad(tokenCount(s.Output), 5),
		"TTFT " + latency(s.TTFT),
		"TPOT " + latency(s.TPOT),
		"ITL " + latency(s.ITL),
		"total " + latency(s.E2EL),
		speed(s),
	}
	return strings.TrimRight(head+strings.Join(parts, "  "), " ")
}

func tokenCount(c wire.Count) string {
	if !c.Known {
		return "?"
	}
	return format.Grouped(c.N)
}

func latency(v Number) string {
	if !finite(v) {
		return pad("none", 7)
	}
	return pad(format.Seconds(float64(v)), 7)
}

// speed is the tokens of an answer by the time that all of it took.
func speed(s Sample) string {
	if !s.Output.Known || !(s.E2EL > 0) {
		return ""
	}
	return format.Digits(float64(s.Output.N)/float64(s.E2EL)) + " tok/s"
}
