package report

import (
	"fmt"
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
	return known(failedSides(x, y), unpaired(x, y),
		unlike(x, y, promptOf, "%s counts %s tokens of prompt, %s %s (medians)"),
		unlike(x, y, outputOf, "%s generates %s tokens, %s %s (medians): E2EL compares answers of different length"),
		unlikeFrames(x, y), unlikeCaches(x, y))
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

func failedSides(x, y side) string {
	a, b := len(x.all)-len(x.good), len(y.all)-len(y.good)
	if a+b == 0 {
		return ""
	}
	return fmt.Sprintf("%s failed %s, %s %s of %s: only rounds that both answered are compared",
		x.name, of(a, len(x.all), "request"), y.name, format.Grouped(b), format.Grouped(len(y.all)))
}

// unpaired counts the rounds that not both answered.
func unpaired(x, y side) string {
	all, paired := map[uint64]bool{}, map[uint64]bool{}
	for _, s := range slices.Concat(x.all, y.all) {
		all[s.Round] = true
	}
	for _, pair := range rounds(requestsOf(x.good), requestsOf(y.good)) {
		paired[pair[0].Round] = true
	}
	switch n := len(all) - len(paired); n {
	case 0:
		return ""
	case 1:
		return of(n, len(all), "round") + " has no pair"
	default:
		return of(n, len(all), "round") + " have no pair"
	}
}

// unlike says that the medians of a number differ where both sides know it.
func unlike(x, y side, number func(Sample) (int, bool), text string) string {
	var medians []string
	for _, s := range []side{x, y} {
		var values []float64
		for _, sample := range s.good {
			if n, ok := number(sample); ok {
				values = append(values, float64(n))
			}
		}
		if values == nil {
			return ""
		}
		medians = append(medians, groupedHalf(median(values)))
	}
	if medians[0] == medians[1] {
		return ""
	}
	return fmt.Sprintf(text, x.name, medians[0], y.name, medians[1])
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
	var batched, packed []string
	for _, s := range []side{x, y} {
		b := burstsOf(s.good)
		if b.batched() {
			batched = append(batched, s.name)
		}
		if b.packed() {
			packed = append(packed, s.name)
		}
	}
	switch {
	case batched != nil:
		return "frames of " + format.List(batched) + " arrive in bursts: ITL, a mean over each burst, is not compared; compare TPOT"
	case len(packed) == 1:
		return "only the frames of " + packed[0] + " carry several tokens: its ITL is the mean within each frame"
	}
	return ""
}

func unlikeCaches(x, y side) string {
	a, b := number(x.good, contaminated), number(y.good, contaminated)
	if a+b == 0 {
		return ""
	}
	return fmt.Sprintf("a cache knew %s of %s and %s of %s of %s: their TTFT and E2EL are not compared",
		of(a, len(x.good), "prompt"), x.name, format.Grouped(b), format.Grouped(len(y.good)), y.name)
}
