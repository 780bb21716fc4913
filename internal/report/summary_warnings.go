package report

import (
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/wire"
)

// An exclusionRule says which requests are excluded from a number.
type exclusionRule struct {
	applies func(Sample) bool
	text    string // follows "3 of 10 requests"
}

// groupedTokensNote says what chunk gaps show if frames carry several tokens.
const groupedTokensNote = "and chunk gaps show how the server groups tokens, not how fast the engine generates them"

// exclusionRules are all rules by which a successful request is excluded from a number.
var exclusionRules = []exclusionRule{
	{func(s Sample) bool { return s.Contaminated }, "had a prompt that was in the server's cache: excluded from TTFT"},
	{func(s Sample) bool { return s.Hidden }, "had hidden reasoning: excluded from TTFT"},
	{
		func(s Sample) bool { return !stats.Finite(s.Latencies.TTFT) && !s.Contaminated && !s.Hidden },
		"had a first token that this prober read too late: excluded from TTFT",
	},
	{
		func(s Sample) bool { return !stats.Finite(s.Latencies.E2EL) },
		"had a last token that this prober read too late: excluded from E2EL",
	},
	{func(s Sample) bool { return s.Tainted }, "were read too late by this prober: excluded from ITL"},
	{
		func(s Sample) bool { return !s.Output.Known },
		"did not report how many tokens they generated: excluded from TPOT, ITL and token counts",
	},
	{
		hasUncountedFrames,
		"did not report how many tokens each frame carries: excluded from ITL, " + groupedTokensNote,
	},
}

// hasUncountedFrames reports whether s has gaps between frames, but no ITL, because nobody knows how its tokens are
// divided among the frames.
func hasUncountedFrames(s Sample) bool {
	hasGaps := s.Frames > s.Bursts+1
	return s.Output.Known && hasGaps && s.Timed == 0 && s.Joined == 0
}

// exclusionWarnings says how many successful samples are excluded from which number, and why.
func exclusionWarnings(good []Sample) (list []string) {
	for _, rule := range exclusionRules {
		n := countIf(good, rule.applies)
		if n > 0 {
			list = append(list, nOfTotal(n, len(good), "request")+" "+rule.text)
		}
	}
	return list
}

// summaryWarnings says what limits the numbers of successful samples. The warnings of exclusionWarnings are among them.
// Canceled is how many requests do not count.
func summaryWarnings(good []Sample, excluded []string, canceled int) []string {
	var list []string
	if canceled > 0 {
		list = append(list, format.Count(canceled, "request")+" canceled at the end of the run: not counted")
	}
	list = append(list, excluded...)
	list = append(list, itlWarnings(good)...)
	lengths := knownCounts(good, outputOf)
	if len(lengths) > 0 && lengths[0] != lengths[len(lengths)-1] {
		list = append(list, fmt.Sprintf("answers are %.10g to %.10g tokens long: E2EL varies with the length",
			lengths[0], lengths[len(lengths)-1]))
	}
	list = append(list, tooFewForQuantiles(len(good))...)
	return append(list, resultWarnings(good)...)
}

// itlWarnings says that few requests have an ITL, or that it is a mean over several tokens.
func itlWarnings(good []Sample) (list []string) {
	timed := 0             // requests with an ITL
	var joined, tokens int // of these
	var frames, output int // of those among them that reported their tokens
	for _, s := range good {
		if s.Timed == 0 {
			continue
		}
		timed++
		joined += s.Joined
		tokens += max(s.Output.N, s.Joined)
		if s.Output.Known {
			frames += s.Frames
			output += s.Output.N
		}
	}
	if timed > 0 && 2*timed < len(good) {
		list = append(list, "ITL rests on "+nOfTotal(timed, len(good), "request")+" only")
	}
	if joined > 0 {
		list = append(list, nOfTotal(joined, tokens, "token")+" were read late, several at once: "+
			"their ITL is a mean, so the tail of ITL looks shorter than it was")
	}
	bursts := burstsOf(good)
	switch {
	case bursts.frequent():
		list = append(list, nOfTotal(bursts.together, bursts.frames, "token frame")+
			" arrived together with the previous one: the server or a proxy sends them in bursts, "+
			"so chunk gaps show its timer and ITL is the mean over each burst")
	case frames > 0 && output >= 2*frames:
		mean := format.Digits(float64(output) / float64(frames))
		list = append(list, "a token frame carries "+mean+
			" tokens on average: ITL is the mean within each frame, "+groupedTokensNote)
	}
	return list
}

// tooFewForQuantiles says from which quantile on fewer than ten of n requests are beyond it. It is silent about the
// median.
func tooFewForQuantiles(n int) []string {
	const needed = 10 - 1e-9 // what is ten on paper is enough
	if n == 0 {
		return nil
	}
	for _, share := range stats.Shares() {
		beyond := float64(n) * (1 - share.Ratio())
		if share != stats.P50 && beyond < needed {
			return []string{fmt.Sprintf("only %s: quantiles from %s on rest on fewer than ten samples",
				format.Count(n, "request"), share)}
		}
	}
	return nil
}

// resultWarnings sums up the warnings of single requests: one for each kind, with the text of the first.
func resultWarnings(good []Sample) (list []string) {
	var kinds []probe.WarningKind
	textsOf := map[probe.WarningKind][]string{}
	for _, s := range good {
		for _, w := range s.Warnings {
			if textsOf[w.Kind] == nil {
				kinds = append(kinds, w.Kind)
			}
			textsOf[w.Kind] = append(textsOf[w.Kind], Warning(w))
		}
	}
	for _, kind := range kinds {
		texts := textsOf[kind]
		colon := ": "
		if len(slices.Compact(slices.Clone(texts))) > 1 {
			colon = ", for example: "
		}
		list = append(list, nOfTotal(len(texts), len(good), "request")+colon+texts[0])
	}
	return list
}

// bursts counts token frames that arrived together.
type bursts struct {
	frames   int // all token frames
	together int // those that arrived in one burst with the frame before
}

// burstsOf counts the token frames of successful samples.
func burstsOf(good []Sample) (b bursts) {
	for _, s := range good {
		b.frames += s.Frames
		b.together += s.Bursts
	}
	return b
}

// frequent reports whether at least half of the frames are in a burst with the frame before. Then something between
// the engine and the prober gathers them.
func (b bursts) frequent() bool { return b.together > 0 && 2*b.together >= b.frames }

// knownCounts returns the numbers of tokens that are known, sorted.
func knownCounts(samples []Sample, tokensOf func(Sample) wire.Count) (list []float64) {
	for _, s := range samples {
		c := tokensOf(s)
		if c.Known {
			list = append(list, float64(c.N))
		}
	}
	slices.Sort(list)
	return list
}

// outputOf returns how many tokens the answer of s has.
func outputOf(s Sample) wire.Count { return s.Output }

// promptOf returns how many tokens the prompt of s has.
func promptOf(s Sample) wire.Count { return s.Prompt }

// nOfTotal writes a part of a whole: "3 of 10 requests".
func nOfTotal(n, total int, noun string) string {
	return format.Grouped(n) + " of " + format.Count(total, noun)
}
