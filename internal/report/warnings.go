package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// limits are what excludes single requests from numbers. Their texts follow "3 of 10 requests".
var limits = []struct {
	is   func(Sample) bool
	noun string
	text string
}{
	{contaminated, "prompt", "were in the server's cache: excluded from TTFT"},
	{func(s Sample) bool { return s.Hidden }, "request", "had hidden reasoning: excluded from TTFT"},
	{func(s Sample) bool { return s.Tainted }, "request", "were read too late by this prober: excluded from ITL"},
	{func(s Sample) bool { return !s.Output.Known }, "request", "did not report how many tokens they generated: excluded from TPOT, ITL and token counts"},
	{
		func(s Sample) bool {
			return s.Output.Known && s.Frames > s.Bursts+1 && len(s.ITLs) == 0 && s.Joined == 0
		}, "request",
		"did not report how many tokens each frame carries: excluded from ITL, and chunk gaps show how the server groups tokens, not how fast the engine generates them",
	},
}

// warningsOf says what limits the numbers of successful samples, each thing once.
// Canceled ones are only counted.
func warningsOf(good []Sample, canceled int) []string {
	var list []string
	if canceled > 0 {
		list = append(list, format.Count(canceled, "request")+" canceled at the end of the run: not counted")
	}
	for _, limit := range limits {
		if n := number(good, limit.is); n > 0 {
			list = append(list, of(n, len(good), limit.noun)+" "+limit.text)
		}
	}
	list = append(list, known(joined(good), batches(burstsOf(good)), lengths(good), fewForTails(good))...)
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

// batches says that token frames arrive in bursts.
func batches(b bursts) string {
	switch {
	case b.batched():
		return of(b.together, b.frames, "token frame") + " arrived together with the previous one: the server or a proxy sends them in bursts, " +
			"so chunk gaps show its timer and ITL is the mean over each burst"
	case b.packed():
		return "a token frame carries " + format.Digits(b.perFrame) + " tokens on average: ITL is the mean within each frame, " +
			"and chunk gaps show how the server groups tokens, not how fast the engine generates them"
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
		if s.Output.Known && len(s.ITLs) > 0 {
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

// extremes are the least and the largest of a known number of tokens; ok is false if none is known.
func extremes(samples []Sample, of func(Sample) (n int, ok bool)) (least, most int, ok bool) {
	least = math.MaxInt
	for _, s := range samples {
		if n, known := of(s); known {
			least, most, ok = min(least, n), max(most, n), true
		}
	}
	return least, most, ok
}

func outputOf(s Sample) (int, bool) { return s.Output.N, s.Output.Known }

func promptOf(s Sample) (int, bool) { return s.Prompt.N, s.Prompt.Known }

// lengths says that answers differ in length.
func lengths(good []Sample) string {
	least, most, ok := extremes(good, outputOf)
	if !ok || least == most {
		return ""
	}
	return fmt.Sprintf("answers are %s to %s long: E2EL varies with the length", format.Grouped(least), format.Count(most, "token"))
}

// LengthWarnings says that prompts were not as long as asked, in tokens; nothing where
// they were, where no server counted, or where no length was asked (0).
func LengthWarnings(samples []Sample, asked int) []string {
	good, _ := split(samples, succeeded)
	least, most, ok := extremes(good, promptOf)
	if asked == 0 || !ok || least == asked && most == asked {
		return nil
	}
	return []string{fmt.Sprintf("prompts have %s tokens where %s were asked", join(format.Grouped(least), format.Grouped(most)), format.Grouped(asked))}
}

// fewForTails names the quantiles that rest on fewer than ten samples.
func fewForTails(good []Sample) string {
	n := len(good)
	if n == 1 {
		return "only 1 request: all its quantiles are the same"
	}
	var few []string
	for _, share := range Shares() {
		if beyond := float64(n) * (1 - share); n > 0 && share > 0.5 && beyond < 10-1e-9 {
			few = append(few, percentile(share))
		}
	}
	switch len(few) {
	case 0:
		return ""
	case 1:
		few[0] += " rests"
	default:
		few[0] += " and above rest"
	}
	return fmt.Sprintf("only %s: %s on fewer than ten samples", format.Count(n, "request"), few[0])
}

// percentile is the name of a quantile: "P99".
func percentile(share float64) string { return fmt.Sprintf("P%g", math.Round(share*1e4)/1e2) }

// common sums up the warnings of single requests: those of one kind are one, with the text of the first.
func common(good []Sample) []string {
	var kinds []string
	found := map[string][]probe.Warning{}
	for _, s := range good {
		for _, w := range s.Warnings {
			if found[w.Kind] == nil {
				kinds = append(kinds, w.Kind)
			}
			found[w.Kind] = append(found[w.Kind], w)
		}
	}
	var list []string
	for _, kind := range kinds {
		all := found[kind]
		such := ": "
		for _, w := range all {
			if w.Error() != all[0].Error() {
				such = ", for example: "
			}
		}
		list = append(list, strings.TrimSpace(of(len(all), len(good), "request")+such+all[0].Error()))
	}
	return list
}
