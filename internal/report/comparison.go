package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/wire"
)

// A Comparison compares two targets, two ranges of time, or two runs, by pairs of measurements. It is of B against A: a
// positive difference means that B takes longer.
type Comparison struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Load string `json:"load"` // as in [Summary]

	Pair string `json:"pair"` // what one pair is: "round", "period of 1h0m0s"

	// Confidence is 0.95: in 95 of 100 runs, everything that is shown in any of the run's comparisons is true.
	Confidence float64 `json:"confidence"`

	// ComparisonsInRun is how many comparisons share Confidence, this one included.
	ComparisonsInRun int `json:"comparisons_in_run"`

	// RequestsInPair is how many requests to each side, under way together, are averaged for one pair. If it is 1, each
	// pair is of single requests.
	RequestsInPair int `json:"requests_in_pair"`

	// Apart is Ranges or Runs if A and B lie apart in time, otherwise empty. Something else may then have changed
	// between them, so a difference is no proof that B is slower.
	Apart string `json:"apart"`

	Columns  string      `json:"columns"`      // what the columns A and B show: Medians or PeriodMeans
	Lines    []Line      `json:"lines"`        // one for each of TTFT, TPOT, ITL and E2EL that has pairs
	Excluded []Exclusion `json:"not_compared"` // values that were left out on purpose
	Warnings Texts       `json:"warnings"`
}

// What the columns A and B of a [Comparison] show.
const (
	Medians     = "medians" // of requests, or of the means of requests that were under way together
	PeriodMeans = "means"   // the median over all periods of the mean of each
)

// What lies apart in time, for [Comparison.Apart].
const (
	Ranges = "ranges" // of stored data
	Runs   = "runs"   // of prober bench
)

// MeasuredInTurn is the warning about two targets, one of which had its whole step before the other.
const MeasuredInTurn = "one was measured after the other: what disturbed the machine or the network meanwhile " +
	"looks like a difference; repeat the run, or compare in rounds (--qps)"

// An Exclusion says why values of a quantity are not compared.
type Exclusion struct {
	Metric string `json:"metric"` // "ITL"
	Reason string `json:"reason"`
}

// A Line compares one quantity.
type Line struct {
	Metric string `json:"metric"` // "TTFT"
	stats.Difference
	Verdict string `json:"verdict"` // see [Comparison.verdict]
}

// Pairs are the measurements of one quantity on A and B, in the order of time. The two of a pair were taken under the
// same circumstances.
type Pairs struct {
	Metric string // "TTFT"
	Values []stats.Pair
}

// Compare fills the lines of c from pairs. Pairs without a positive number on both sides are left out, and so are
// quantities without any pair. If any quantity has too few pairs, the last of the warnings says so.
//
// Each c.RequestsInPair pairs in a row become one, their mean. The statistics are those of [stats.Compare].
func Compare(c Comparison, pairs []Pairs) Comparison {
	c = c.withDefaults()
	var compared [][]stats.Pair
	for _, p := range pairs {
		means := stats.GroupMeans(p.Values, c.RequestsInPair)
		if len(means) > 0 {
			c.Lines = append(c.Lines, Line{Metric: p.Metric})
			compared = append(compared, means)
		}
	}
	if len(compared) == 0 {
		return Uncompared(c, "no "+c.Pair+" was answered by both: nothing to compare")
	}
	for i, difference := range stats.Compare(compared, c.ComparisonsInRun) {
		line := &c.Lines[i]
		line.Difference = difference
		line.Verdict = c.verdict(*line, c.A, c.B)
	}
	warning := c.tooFewPairs()
	if warning != "" {
		c.Warnings = append(c.Warnings, warning)
	}
	return c
}

// CompareSamples fills c from the samples of two targets that got the same prompts. Requests of the same round are a
// pair, if both succeeded. Before the warnings of c it adds what differs between the targets besides speed. Neither
// list may be empty.
func CompareSamples(c Comparison, samplesOfA, samplesOfB []Sample) Comparison {
	a := sideOf(samplesOfA)
	b := sideOf(samplesOfB)
	pairs := pairByRound(comparableRequests(a.good), comparableRequests(b.good))
	c.Excluded = exclusions(a, b)
	c.Warnings = slices.Concat(pairWarnings(a, b, pairs, c.Excluded), c.Warnings)
	return Compare(c, pairsOf(pairs))
}

// Uncompared returns c without lines, and with a warning that says why.
func Uncompared(c Comparison, why string) Comparison {
	c = c.withDefaults()
	c.Warnings = append(c.Warnings, why)
	return c
}

// withDefaults returns a copy of c without lines, in which what was not set has its default.
func (c Comparison) withDefaults() Comparison {
	c.Confidence = stats.Confidence
	c.ComparisonsInRun = max(c.ComparisonsInRun, 1)
	c.RequestsInPair = max(c.RequestsInPair, 1)
	c.Columns = cmp.Or(c.Columns, Medians)
	c.Lines = []Line{}
	c.Excluded = append([]Exclusion{}, c.Excluded...)
	c.Warnings = slices.Clip(c.Warnings)
	return c
}

// PairsNeeded returns how many pairs a run of some comparisons needs to show any difference.
func PairsNeeded(comparisons int) int {
	return stats.PairsNeeded(max(comparisons, 1) * len(quantities))
}

// A requestPair is a request to A and one to B under the same circumstances.
type requestPair struct{ a, b Latencies }

// comparableRequests returns the requests of one target that succeeded, by round and start, with the values that may be
// compared. If frames come in bursts, there is no ITL, because it would be a mean over each burst. If a cache had the
// prompt, there is no E2EL, because it is shorter by the prefill that was saved.
func comparableRequests(samples []Sample) (list []Latencies) {
	good := filter(samples, Sample.succeeded)
	inBursts := burstsOf(good).frequent()
	order := make([]int, len(good)) // sorting positions is cheaper than sorting samples
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(good[i].Latencies.Round, good[j].Latencies.Round), good[i].Start.Compare(good[j].Start))
	})
	list = make([]Latencies, 0, len(good))
	for _, i := range order {
		r := good[i].Latencies
		if inBursts {
			r.ITL = noValue
		}
		if good[i].Contaminated {
			r.E2EL = noValue
		}
		list = append(list, r)
	}
	return list
}

// pairByRound pairs requests of the same round, in the order of A. If a round has several requests, the first of A is
// paired with the first of B, and so on.
func pairByRound(a, b []Latencies) (list []requestPair) {
	unpaired := map[uint64][]Latencies{}
	for _, r := range b {
		unpaired[r.Round] = append(unpaired[r.Round], r)
	}
	for _, r := range a {
		candidates := unpaired[r.Round]
		if len(candidates) > 0 {
			list = append(list, requestPair{r, candidates[0]})
			unpaired[r.Round] = candidates[1:]
		}
	}
	return list
}

// pairsOf returns the pairs of each quantity.
func pairsOf(pairs []requestPair) []Pairs {
	var list []Pairs
	for _, q := range quantities {
		p := Pairs{Metric: q.Name}
		for _, pair := range pairs {
			p.Values = append(p.Values, stats.Pair{
				A: float64(*q.ofRequest(&pair.a)),
				B: float64(*q.ofRequest(&pair.b)),
			})
		}
		list = append(list, p)
	}
	return list
}

// A side is the samples of one of two targets that are compared.
type side struct {
	name string
	sent []Sample // without canceled requests
	good []Sample // the requests of sent that succeeded
}

// sideOf returns the side with these samples. There is at least one.
func sideOf(samples []Sample) side {
	s := side{name: format.Clean(samples[0].Target)}
	s.sent = filter(samples, Sample.counts)
	s.good = filter(s.sent, Sample.succeeded)
	return s
}

// failed returns how many requests of s failed: "1 of 10 requests".
func (s side) failed() string {
	return nOfTotal(len(s.sent)-len(s.good), len(s.sent), "request")
}

// pairWarnings returns warnings of what differs between two sides besides speed.
func pairWarnings(a, b side, pairs []requestPair, excluded []Exclusion) []string {
	list := nonEmpty(
		unpairedWarning(a, b, pairs),
		lengthWarning(a, b, promptOf, "%s counts %.10g tokens of prompt, %s %.10g (medians)"),
		lengthWarning(a, b, outputOf,
			"%s generates %.10g tokens, %s %.10g (medians): E2EL compares answers of different length"),
	)
	for _, e := range excluded {
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
func unpairedWarning(a, b side, pairs []requestPair) string {
	unpaired := map[uint64]bool{} // first all rounds
	for _, s := range slices.Concat(a.sent, b.sent) {
		unpaired[s.Latencies.Round] = true
	}
	rounds := len(unpaired)
	for _, pair := range pairs {
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
func lengthWarning(a, b side, tokensOf func(Sample) wire.Count, layout string) string {
	countsA := knownCounts(a.good, tokensOf)
	countsB := knownCounts(b.good, tokensOf)
	if len(countsA) == 0 || len(countsB) == 0 {
		return ""
	}
	medianA := stats.Median(countsA)
	medianB := stats.Median(countsB)
	if medianA == medianB {
		return ""
	}
	return fmt.Sprintf(layout, a.name, medianA, b.name, medianB)
}

// exclusions says which values of two sides are not compared, and why. comparableRequests leaves them out.
func exclusions(a, b side) (list []Exclusion) {
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

// CompareFiles compares two documents in JSON files, step by step. A step of one file is compared with the step of the
// other that has the same load, prompt length and target (if each file has only one target, their names may differ).
// Mistakes in the files are returned as [usage.Problems].
func CompareFiles(pathA, pathB string) (Document, error) {
	a, problemsA := readDocument(pathA)
	b, problemsB := readDocument(pathB)
	problems := append(problemsA, problemsB...)
	if problems != nil {
		return Document{}, problems
	}
	nameA, nameB := filepath.Base(pathA), filepath.Base(pathB)
	if nameA == nameB {
		nameA, nameB = pathA, pathB
	}
	d := Document{
		Source:   fmt.Sprintf("A: %s; B: %s", sourceOfFile(nameA, a), sourceOfFile(nameB, b)),
		Warnings: settingsThatDiffer(a, b),
	}
	steps := commonSteps(a.Summaries, b.Summaries)
	for _, step := range steps {
		d.Comparisons = append(d.Comparisons, compareSteps(nameA, nameB, step, len(steps)))
	}
	if d.Comparisons == nil {
		return d, fmt.Errorf("%s and %s have no step in common, of equal load, prompt length and target", nameA, nameB)
	}
	return d, nil
}

// sourceOfFile returns a line with the name of a file, and what wrote it when.
func sourceOfFile(name string, d Document) string {
	started := d.Started.UTC().Format(time.RFC3339)
	version := cmp.Or(d.Version, "unknown")
	return format.Clean(fmt.Sprintf("%s, %s, %s, version %s", name, d.Source, started, version))
}

// settingsThatDiffer returns a sentence for each setting, and for the version, in which two runs differ.
func settingsThatDiffer(a, b Document) []string {
	sentences := []string{differenceText("versions of prober differ", a.Version, b.Version)}
	all := map[string]string{}
	maps.Copy(all, a.Settings)
	maps.Copy(all, b.Settings)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sentence := differenceText(format.Clean(name)+" differs", a.Settings[name], b.Settings[name])
		sentences = append(sentences, sentence)
	}
	return nonEmpty(sentences...)
}

// differenceText returns what differs and both values, or nothing if they are equal.
func differenceText(what, a, b string) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s: %s, %s", what, cmp.Or(format.Clean(a), "none"), cmp.Or(format.Clean(b), "none"))
}

// A stepPair is the same step of two runs.
type stepPair struct{ a, b Summary }

// commonSteps returns the steps that two runs have in common.
func commonSteps(a, b []Summary) (steps []stepPair) {
	ignoreNames := ofOneTarget(a) && ofOneTarget(b)
	for _, x := range a {
		for _, y := range b {
			sameTarget := ignoreNames || x.Target == y.Target
			isSamePrompt := x.Prompt == y.Prompt && x.PromptTokens == y.PromptTokens
			if sameTarget && x.Load == y.Load && isSamePrompt {
				steps = append(steps, stepPair{x, y})
			}
		}
	}
	return steps
}

// ofOneTarget reports whether all steps are of the same target.
func ofOneTarget(steps []Summary) bool {
	return !slices.ContainsFunc(steps, func(s Summary) bool { return s.Target != steps[0].Target })
}

// compareSteps compares one of the steps that two runs have in common. Rounds of two runs have nothing to do with each
// other, so the first request of A is paired with the first of B, and so on.
func compareSteps(nameA, nameB string, step stepPair, steps int) Comparison {
	a := step.a
	b := step.b
	c := Comparison{
		A:                nameA,
		B:                nameB,
		Load:             headline(a),
		Pair:             "request",
		Apart:            Runs,
		ComparisonsInRun: steps,
		RequestsInPair:   a.AtOnce,
		Warnings: nonEmpty(
			differenceText("models differ", a.Model, b.Model),
			differenceText("targets differ", a.Target, b.Target),
		),
	}
	if a.Failed()+b.Failed() > 0 || a.Succeeded() != b.Succeeded() {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s of A and %s of B succeeded: the first ones are compared",
			nOfTotal(a.Succeeded(), a.Sent(), "request"), nOfTotal(b.Succeeded(), b.Sent(), "request")))
	}
	isStored := func(s Summary) bool { return len(s.Requests) == 0 && s.Succeeded() > 0 }
	if isStored(a) || isStored(b) {
		return Uncompared(c, "data from Prometheus has no single requests: compare with prober report --prometheus --vs")
	}
	var both []requestPair
	for i := range min(len(a.Requests), len(b.Requests)) {
		both = append(both, requestPair{a.Requests[i], b.Requests[i]})
	}
	return Compare(c, pairsOf(both))
}
