package report

import (
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/wire"
)

// MeasuredInTurn is the warning about two targets of which one had its whole step before the other.
const MeasuredInTurn = "one was measured after the other: what disturbed the machine or the network meanwhile " +
	"looks like a difference; repeat the run, or compare in rounds (--qps)"

// A pairSide is one of two targets that are compared.
type pairSide struct {
	name string
	sent []Sample // without canceled requests
	good []Sample // those that succeeded
}

// pairSideOf returns the side with these samples, of which there is at least one.
func pairSideOf(samples []Sample) pairSide {
	s := pairSide{name: format.Clean(samples[0].Target)}
	s.sent = filter(samples, Sample.counts)
	s.good = filter(s.sent, Sample.succeeded)
	return s
}

// failed returns how many requests of s failed: "1 of 10 requests".
func (s pairSide) failed() string {
	return nOfTotal(len(s.sent)-len(s.good), len(s.sent), "request")
}

// PairWarnings returns warnings of what differs between the samples of two targets besides speed. Neither list may be
// empty.
func PairWarnings(samplesOfA, samplesOfB []Sample) []string {
	a, b := pairSideOf(samplesOfA), pairSideOf(samplesOfB)
	list := nonEmpty(
		unpairedWarning(a, b),
		lengthWarning(a, b, promptOf, "%s counts %.10g tokens of prompt, %s %.10g (medians)"),
		lengthWarning(a, b, outputOf,
			"%s generates %.10g tokens, %s %.10g (medians): E2EL compares answers of different length"),
	)
	for _, e := range exclusionsOf(a, b) {
		switch e.Metric { // one warning for each reason: E2EL shares that of TTFT
		case nameITL:
			list = append(list, e.Reason+": ITL, a mean over each burst, is not compared; compare TPOT")
		case "TTFT":
			list = append(list, e.Reason+": their TTFT and E2EL are not compared")
		}
	}
	return list
}

// unpairedWarning says how many rounds are not compared because only one side answered. It is empty if there are none.
func unpairedWarning(a, b pairSide) string {
	unpaired := map[uint64]bool{} // first all rounds
	for _, s := range slices.Concat(a.sent, b.sent) {
		unpaired[s.Latencies.Round] = true
	}
	rounds := len(unpaired)
	for _, pair := range pairByRound(comparableRequests(a.good), comparableRequests(b.good)) {
		delete(unpaired, pair.a.Round)
	}
	if len(unpaired) == 0 {
		return ""
	}
	return fmt.Sprintf("%s without a pair, not compared: %s failed %s, %s %s",
		nOfTotal(len(unpaired), rounds, "round"), a.name, a.failed(), b.name, b.failed())
}

// lengthWarning says that prompts or answers of the two sides differ in their median length. It is empty if they do
// not. The layout has the name and the median of each side.
func lengthWarning(a, b pairSide, tokensOf func(Sample) wire.Count, layout string) string {
	countsA, countsB := knownCounts(a.good, tokensOf), knownCounts(b.good, tokensOf)
	if len(countsA) == 0 || len(countsB) == 0 {
		return ""
	}
	medianA, medianB := stats.Median(countsA), stats.Median(countsB)
	if medianA == medianB {
		return ""
	}
	return fmt.Sprintf(layout, a.name, medianA, b.name, medianB)
}

// Exclusions says which values of the samples of two targets are not compared, and why. [PairUp] leaves them out.
func Exclusions(samplesOfA, samplesOfB []Sample) []Exclusion {
	if len(samplesOfA) == 0 || len(samplesOfB) == 0 {
		return nil
	}
	return exclusionsOf(pairSideOf(samplesOfA), pairSideOf(samplesOfB))
}

// exclusionsOf says which values of two sides are not compared, and why.
func exclusionsOf(a, b pairSide) (list []Exclusion) {
	if len(a.good) == 0 || len(b.good) == 0 {
		return nil
	}
	if burstsOf(a.good).frequent() || burstsOf(b.good).frequent() {
		list = append(list, Exclusion{Metric: nameITL, Reason: "token frames arrive in bursts"})
	}
	fromCache := func(s Sample) bool { return s.Contaminated }
	cachedA, cachedB := countIf(a.good, fromCache), countIf(b.good, fromCache)
	if cachedA+cachedB > 0 {
		reason := fmt.Sprintf("a cache had %s of %s and %d of %d of %s",
			nOfTotal(cachedA, len(a.good), "prompt"), a.name, cachedB, len(b.good), b.name)
		list = append(list, Exclusion{Metric: "TTFT", Reason: reason}, Exclusion{Metric: "E2EL", Reason: reason})
	}
	return list
}
