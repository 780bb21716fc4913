package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/format"
)

// PairWarnings says in what the samples of two targets in one run differ besides
// speed; nothing where one of them has no samples.
func PairWarnings(a, b []Sample) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	x, y := sideOf(a), sideOf(b)
	var list []string
	for _, warning := range []func(x, y side) string{failures, unpaired, unlikePrompts, unlikeAnswers, unlikeFrames, unlikeCaches} {
		if text := warning(x, y); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// LengthWarnings says that prompts were not as long as asked, in tokens; nothing where
// they were, where no server counted, or where no length was asked (0).
func LengthWarnings(samples []Sample, asked int) []string {
	least, most := math.MaxInt, 0
	for _, s := range samples {
		if succeeded(s) && s.Prompt.Known {
			least, most = min(least, s.Prompt.N), max(most, s.Prompt.N)
		}
	}
	if asked == 0 || least > most || least == asked && most == asked {
		return nil
	}
	return []string{fmt.Sprintf("prompts have %s where %s were asked", join(format.Grouped(least), format.Grouped(most))+" tokens", format.Grouped(asked))}
}

// A side is one target of a comparison.
type side struct {
	name      string
	all, good []Sample
}

func sideOf(samples []Sample) side {
	counted, _ := split(samples, notCanceled)
	good, _ := split(counted, succeeded)
	return side{name: format.Clean(samples[0].Target), all: counted, good: good}
}

func (s side) failed() int { return len(s.all) - len(s.good) }

func failures(x, y side) string {
	if x.failed()+y.failed() == 0 {
		return ""
	}
	return fmt.Sprintf("%s failed %s, %s %s: only rounds that both answered are compared",
		x.name, of(x.failed(), len(x.all), "request"), y.name, outOf(y.failed(), len(y.all)))
}

// outOf is "3 of 10".
func outOf(n, total int) string { return format.Grouped(n) + " of " + format.Grouped(total) }

// unpaired counts the rounds that not both answered.
func unpaired(x, y side) string {
	total := map[uint64]bool{}
	for _, s := range slices.Concat(x.all, y.all) {
		total[s.Round] = true
	}
	paired := map[uint64]bool{}
	for _, pair := range rounds(x.good, y.good) {
		paired[pair[0].Round] = true
	}
	if len(paired) == len(total) {
		return ""
	}
	have := "have"
	if len(total)-len(paired) == 1 {
		have = "has"
	}
	return fmt.Sprintf("%s %s no pair", of(len(total)-len(paired), len(total), "round"), have)
}

func unlikePrompts(x, y side) string {
	a, b, differ := unlike(x, y, func(s Sample) (int, bool) { return s.Prompt.N, s.Prompt.Known })
	if !differ {
		return ""
	}
	return fmt.Sprintf("%s counts %s tokens of prompt, %s %s (medians)", x.name, a, y.name, b)
}

func unlikeAnswers(x, y side) string {
	a, b, differ := unlike(x, y, func(s Sample) (int, bool) { return s.Output.N, s.Output.Known })
	if !differ {
		return ""
	}
	return fmt.Sprintf("%s generates %s tokens, %s %s (medians): E2EL compares answers of different length", x.name, a, y.name, b)
}

// unlike are the medians of a number on both sides, where both know it and they
// differ.
func unlike(x, y side, of func(Sample) (int, bool)) (a, b string, differ bool) {
	medianOf := func(samples []Sample) (float64, bool) {
		var values []float64
		for _, s := range samples {
			if n, ok := of(s); ok {
				values = append(values, float64(n))
			}
		}
		if values == nil {
			return 0, false
		}
		return median(values), true
	}
	va, oka := medianOf(x.good)
	vb, okb := medianOf(y.good)
	return groupedHalf(va), groupedHalf(vb), oka && okb && va != vb
}

// groupedHalf writes a median of whole numbers.
func groupedHalf(v float64) string {
	text := format.Grouped(int(v))
	if v != float64(int(v)) {
		text += ".5"
	}
	return text
}

// unlikeFrames is about ITL, which [PairUp] leaves out where it is the mean of bursts.
func unlikeFrames(x, y side) string {
	a, b := burstsOf(x.good), burstsOf(y.good)
	var batched []string
	if a.batched() {
		batched = append(batched, x.name)
	}
	if b.batched() {
		batched = append(batched, y.name)
	}
	switch {
	case batched != nil:
		return "frames of " + format.List(batched) + " arrive in bursts: ITL, a mean over each burst, is not compared; compare TPOT"
	case a.packed() && !b.packed():
		return "only the frames of " + x.name + " carry several tokens: its ITL is the mean within each frame"
	case b.packed() && !a.packed():
		return "only the frames of " + y.name + " carry several tokens: its ITL is the mean within each frame"
	}
	return ""
}

func unlikeCaches(x, y side) string {
	a, b := number(x.good, contaminated), number(y.good, contaminated)
	if a+b == 0 {
		return ""
	}
	return fmt.Sprintf("a cache knew %s of %s and %s of %s: their TTFT and E2EL are not compared",
		of(a, len(x.good), "prompt"), x.name, outOf(b, len(y.good)), y.name)
}
