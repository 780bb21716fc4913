package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/wire"
)

// limits are what excludes single requests from numbers. Their texts follow "3 of 10 requests".
var limits = []struct {
	is   func(Sample) bool
	text string
}{
	{contaminated, "had a prompt that was in the server's cache: excluded from TTFT"},
	{func(s Sample) bool { return s.Hidden }, "had hidden reasoning: excluded from TTFT"},
	{
		func(s Sample) bool { return !finite(s.TTFT) && !s.Contaminated && !s.Hidden },
		"had a first token that this prober read too late: excluded from TTFT",
	},
	{func(s Sample) bool { return !finite(s.E2EL) }, "had a last token that this prober read too late: excluded from E2EL"},
	{func(s Sample) bool { return s.Tainted }, "were read too late by this prober: excluded from ITL"},
	{func(s Sample) bool { return !s.Output.Known }, "did not report how many tokens they generated: excluded from TPOT, ITL and token counts"},
	{
		func(s Sample) bool {
			return s.Output.Known && s.Frames > s.Bursts+1 && s.Timed == 0 && s.Joined == 0
		},
		"did not report how many tokens each frame carries: excluded from ITL, " + grouped,
	},
}

const grouped = "and chunk gaps show how the server groups tokens, not how fast the engine generates them"

// excludedOf says how many successful samples are excluded from which number, and why.
func excludedOf(good []Sample) (list []string) {
	for _, limit := range limits {
		if n := number(good, limit.is); n > 0 {
			list = append(list, of(n, len(good), "request")+" "+limit.text)
		}
	}
	return list
}

// warningsOf says what limits the numbers of successful samples, each thing once. Canceled ones are only counted.
func warningsOf(good []Sample, excluded []string, canceled int) []string {
	var list []string
	if canceled > 0 {
		list = append(list, format.Count(canceled, "request")+" canceled at the end of the run: not counted")
	}
	list = append(list, excluded...)
	timed := 0 // requests on which ITL rests
	var joined, tokens, told, carried int
	for _, s := range good {
		if s.Timed == 0 {
			continue
		}
		timed++
		joined += s.Joined
		tokens += max(s.Output.N, s.Joined)
		if s.Output.Known {
			told += s.Frames
			carried += s.Output.N
		}
	}
	if timed > 0 && 2*timed < len(good) {
		list = append(list, "ITL rests on "+of(timed, len(good), "request")+" only")
	}
	if joined > 0 {
		list = append(list, of(joined, tokens, "token")+" were read late, several at once: their ITL is a mean, so the tail of ITL looks shorter than it was")
	}
	if frames, together, batched := bursts(good); batched {
		list = append(list, of(together, frames, "token frame")+" arrived together with the previous one: "+
			"the server or a proxy sends them in bursts, so chunk gaps show its timer and ITL is the mean over each burst")
	} else if told > 0 && carried >= 2*told {
		list = append(list, "a token frame carries "+format.Digits(float64(carried)/float64(told))+" tokens on average: ITL is the mean within each frame, "+grouped)
	}
	if n := counts(good, outputOf); len(n) > 0 && n[0] != n[len(n)-1] {
		list = append(list, fmt.Sprintf("answers are %.10g to %.10g tokens long: E2EL varies with the length", n[0], n[len(n)-1]))
	}
	n := len(good)
	few := func(share float64) bool { return share > 0.5 && float64(n)*(1-share) < 10-1e-9 }
	if i := slices.IndexFunc(Shares(), few); n > 0 && i >= 0 {
		list = append(list, fmt.Sprintf("only %s: quantiles from %s on rest on fewer than ten samples", format.Count(n, "request"), percentile(Shares()[i])))
	}
	return append(list, common(good)...)
}

// number counts samples, of which there may be many: without a copy.
func number(samples []Sample, is func(Sample) bool) (n int) {
	for _, s := range samples {
		if is(s) {
			n++
		}
	}
	return n
}

// of is "3 of 10 requests".
func of(n, total int, noun string) string {
	return format.Grouped(n) + " of " + format.Count(total, noun)
}

func contaminated(s Sample) bool { return s.Contaminated }

func outputOf(s Sample) wire.Count { return s.Output }

func promptOf(s Sample) wire.Count { return s.Prompt }

// counts are numbers of tokens where they are known, sorted.
func counts(samples []Sample, of func(Sample) wire.Count) (list []float64) {
	for _, s := range samples {
		if c := of(s); c.Known {
			list = append(list, float64(c.N))
		}
	}
	slices.Sort(list)
	return list
}

// bursts counts the token frames of successful samples, and those that arrived in a burst with the one before. They are
// batched if these are at least half of them: something between the engine and the prober does that.
func bursts(good []Sample) (frames, together int, batched bool) {
	for _, s := range good {
		frames += s.Frames
		together += s.Bursts
	}
	return frames, together, together > 0 && 2*together >= frames
}

// percentile is the name of a quantile: "P99".
func percentile(share float64) string { return fmt.Sprintf("P%g", math.Round(share*1e4)/1e2) }

// common sums up the warnings of single requests: those of one kind are one, with the text of the first.
func common(good []Sample) (list []string) {
	var kinds []string
	found := map[string][]string{}
	for _, s := range good {
		for _, w := range s.Warnings {
			if found[w.Kind] == nil {
				kinds = append(kinds, w.Kind)
			}
			found[w.Kind] = append(found[w.Kind], w.Text)
		}
	}
	for _, kind := range kinds {
		texts, such := found[kind], ": "
		if len(slices.Compact(slices.Clone(texts))) > 1 {
			such = ", for example: "
		}
		list = append(list, of(len(texts), len(good), "request")+such+texts[0])
	}
	return list
}

// PairWarnings says in what the samples of two targets in one run, some of each, differ besides speed.
func PairWarnings(a, b []Sample) (list []string) {
	nameA, nameB := format.Clean(a[0].Target), format.Clean(b[0].Target)
	a, _ = split(a, notCanceled)
	b, _ = split(b, notCanceled)
	goodA, badA := split(a, succeeded)
	goodB, badB := split(b, succeeded)
	alone := map[uint64]bool{}
	for _, s := range slices.Concat(a, b) {
		alone[s.Round] = true
	}
	all := len(alone)
	for _, pair := range rounds(requestsOf(a), requestsOf(b)) {
		delete(alone, pair[0].Round)
	}
	if n := len(alone); n > 0 {
		list = append(list, fmt.Sprintf("%s without a pair, not compared: %s failed %s, %s %s", of(n, all, "round"),
			nameA, of(len(badA), len(a), "request"), nameB, of(len(badB), len(b), "request")))
	}
	unlike := func(count func(Sample) wire.Count, text string) {
		x, y := counts(goodA, count), counts(goodB, count)
		if len(x) > 0 && len(y) > 0 && median(x) != median(y) {
			list = append(list, fmt.Sprintf(text, nameA, median(x), nameB, median(y)))
		}
	}
	unlike(promptOf, "%s counts %.10g tokens of prompt, %s %.10g (medians)")
	unlike(outputOf, "%s generates %.10g tokens, %s %.10g (medians): E2EL compares answers of different length")
	for _, e := range Exclusions(a, b) {
		switch e.Metric { // one warning for each reason
		case "ITL":
			list = append(list, e.Reason+": ITL, a mean over each burst, is not compared; compare TPOT")
		case "TTFT":
			list = append(list, e.Reason+": their TTFT and E2EL are not compared")
		}
	}
	return list
}

// Exclusions says which values of the samples of two targets are not compared, and why: see [requestsOf].
func Exclusions(a, b []Sample) (list []Exclusion) {
	a, _ = split(a, succeeded)
	b, _ = split(b, succeeded)
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	_, _, batchedA := bursts(a)
	_, _, batchedB := bursts(b)
	if batchedA || batchedB {
		list = append(list, Exclusion{"ITL", "token frames arrive in bursts"})
	}
	cachedA, cachedB := number(a, contaminated), number(b, contaminated)
	if cachedA+cachedB > 0 {
		reason := fmt.Sprintf("a cache knew %s of %s and %d of %d of %s", of(cachedA, len(a), "prompt"),
			format.Clean(a[0].Target), cachedB, len(b), format.Clean(b[0].Target))
		list = append(list, Exclusion{"TTFT", reason}, Exclusion{"E2EL", reason})
	}
	return list
}
