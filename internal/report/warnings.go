package report

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/llm-prober/prober/internal/format"
)

// warningsOf says what limits the numbers of successful samples, each thing once.
// Canceled ones are only counted.
func warningsOf(good []Sample, canceled int) []string {
	var list []string
	if canceled > 0 {
		list = append(list, format.Count(canceled, "request")+" canceled at the end of the run: not counted")
	}
	for _, text := range []string{
		cached(good), hidden(good), late(good), joined(good), uncounted(good), unattributed(good), batches(burstsOf(good)), lengths(good), fewForTails(good),
	} {
		if text != "" {
			list = append(list, text)
		}
	}
	return append(list, common(good)...)
}

// number counts the samples that are.
func number(samples []Sample, is func(Sample) bool) int {
	are, _ := split(samples, is)
	return len(are)
}

// of is "3 of 10 requests".
func of(n, total int, noun string) string {
	return format.Grouped(n) + " of " + format.Count(total, noun)
}

func contaminated(s Sample) bool { return s.Contaminated }

func cached(good []Sample) string {
	n := number(good, contaminated)
	if n == 0 {
		return ""
	}
	return of(n, len(good), "prompt") + " were in the server's cache: excluded from TTFT"
}

// hidden counts answers whose first tokens no frame showed.
func hidden(good []Sample) string {
	n := number(good, func(s Sample) bool { return s.Hidden })
	if n == 0 {
		return ""
	}
	return of(n, len(good), "request") + " had hidden reasoning: excluded from TTFT"
}

func tainted(s Sample) bool { return s.Tainted }

// late counts answers that were read too late for ITL.
func late(good []Sample) string {
	n := number(good, tainted)
	if n == 0 {
		return ""
	}
	return of(n, len(good), "request") + " were read too late by this prober: excluded from ITL"
}

// joined counts tokens that were read together because the prober was late.
func joined(good []Sample) string {
	n, total := 0, 0
	for _, s := range good {
		n += s.Joined
		total += max(s.Output.N, s.Joined)
	}
	if n == 0 {
		return ""
	}
	return of(n, total, "token") + " were read late, several at once: their ITL is a mean, so the tail of ITL looks shorter than it was"
}

func uncounted(good []Sample) string {
	n := number(good, func(s Sample) bool { return !s.Output.Known })
	if n == 0 {
		return ""
	}
	return of(n, len(good), "request") + " did not report how many tokens they generated: excluded from TPOT, ITL and token counts"
}

// unattributed counts answers of several frames that do not say their tokens.
func unattributed(good []Sample) string {
	n := number(good, func(s Sample) bool {
		return s.Output.Known && s.Frames > s.Bursts+1 && len(s.ITL) == 0 && s.Joined == 0
	})
	if n == 0 {
		return ""
	}
	return of(n, len(good), "request") + " did not report how many tokens each frame carries: excluded from ITL, and chunk gaps show how the server groups tokens, not how fast the engine generates them"
}

// batches says that token frames arrive in bursts.
func batches(b bursts) string {
	switch {
	case b.batched():
		return of(b.together, b.frames, "token frame") + " arrived together with the previous one: the server or a proxy sends them in bursts, so chunk gaps show its timer and ITL is the mean over each burst"
	case b.packed():
		return fmt.Sprintf("a token frame carries %s tokens on average: ITL is the mean within each frame, and chunk gaps show how the server groups tokens, not how fast the engine generates them",
			format.Digits(b.perFrame))
	}
	return ""
}

// bursts are the signs that something between the engine and the prober batches tokens.
type bursts struct {
	frames, together int     // token frames; those that arrived in a burst with the one before
	perFrame         float64 // mean tokens of a frame where that is known, or 0
}

// burstsOf finds them in successful samples.
func burstsOf(good []Sample) bursts {
	var b bursts
	var frames, tokens int
	for _, s := range good {
		b.frames += s.Frames
		b.together += s.Bursts
		if s.Output.Known && len(s.ITL) > 0 {
			frames += s.Frames
			tokens += s.Output.N
		}
	}
	if frames > 0 {
		b.perFrame = float64(tokens) / float64(frames)
	}
	return b
}

// batched reports whether at least half of all frames came with another.
func (b bursts) batched() bool { return b.together > 0 && 2*b.together >= b.frames }

// packed reports whether frames carry several tokens.
func (b bursts) packed() bool { return b.perFrame >= 2 }

// lengths says that answers differ in length.
func lengths(good []Sample) string {
	least, most := math.MaxInt, 0
	for _, s := range good {
		if s.Output.Known {
			least, most = min(least, s.Output.N), max(most, s.Output.N)
		}
	}
	if least >= most {
		return ""
	}
	return fmt.Sprintf("answers are %s to %s long: E2EL varies with the length", format.Grouped(least), format.Count(most, "token"))
}

// fewForTails names the quantiles that rest on fewer than ten samples.
func fewForTails(good []Sample) string {
	n := len(good)
	if n == 0 {
		return ""
	}
	if n == 1 {
		return "only 1 request: all its quantiles are the same"
	}
	var few []string
	for _, share := range Shares() {
		if beyond := float64(n) * (1 - share); share > 0.5 && beyond < 10-1e-9 {
			few = append(few, percentile(share))
		}
	}
	if few == nil {
		return ""
	}
	rest := few[0] + " rests"
	if len(few) > 1 {
		rest = few[0] + " and above rest"
	}
	return fmt.Sprintf("only %s: %s on fewer than ten samples", format.Count(n, "request"), rest)
}

// percentile is the name of a quantile: "P99".
func percentile(share float64) string { return fmt.Sprintf("P%g", math.Round(share*1e4)/1e2) }

// common sums up the warnings of single requests. Those that differ only in their
// numbers are one.
func common(good []Sample) []string {
	type warning struct {
		first string
		alike bool
		n     int
	}
	var kinds []string
	found := map[string]*warning{}
	for _, s := range good {
		for _, text := range s.Warnings {
			kind := strings.Map(dropDigit, text)
			if found[kind] == nil {
				kinds = append(kinds, kind)
				found[kind] = &warning{first: text, alike: true}
			}
			found[kind].n++
			found[kind].alike = found[kind].alike && text == found[kind].first
		}
	}
	var list []string
	for _, kind := range kinds {
		w := found[kind]
		such := ": "
		if !w.alike {
			such = ", for example: "
		}
		list = append(list, of(w.n, len(good), "request")+such+w.first)
	}
	return list
}

func dropDigit(r rune) rune {
	if unicode.IsDigit(r) || r == '+' || r == '-' {
		return -1
	}
	return r
}
