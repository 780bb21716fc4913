package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// A Document is all that a run, or a query of stored data, reports.
type Document struct {
	Source      string            `json:"source"`           // what was asked: "prober bench", a Prometheus
	Version     string            `json:"version"`          // of the prober
	Settings    map[string]string `json:"settings"`         // by their names, without secrets; several values have commas between them
	Started     time.Time         `json:"started,omitzero"` // of the first request, or of the range
	Summaries   []Summary         `json:"summaries"`
	Comparisons []Comparison      `json:"comparisons"`
	Warnings    Texts             `json:"warnings"` // of the whole; sentences
}

// A Summary is what a block tells: one target's requests in one step of a bench, or in a range of time that was stored.
type Summary struct {
	Target string `json:"target"`
	Model  string `json:"model"` // that answered; empty if unknown
	URL    string `json:"url"`   // of the target, without credentials; empty if unknown
	Load   string `json:"load"`  // how it was asked, in words: "32 at once", "0.1 QPS"; empty where it was stored

	PromptTokens int `json:"prompt_tokens,omitzero"` // asked of each prompt; 0 if they differ or are unknown
	AtOnce       int `json:"at_once,omitzero"`       // requests under way at once, where that was the load; 0 where it was a rate

	Start    time.Time     `json:"start,omitzero"` // of the first request, or of the range
	Duration time.Duration `json:"-"`              // from Start to the end of the last request, or of the range

	Outcomes map[probe.Outcome]int `json:"outcomes"`         // requests by outcome; those that are missing are 0
	Skipped  map[probe.Skip]int    `json:"skipped_requests"` // slots without a request, by reason
	Failures []Failures            `json:"failures"`         // why requests failed; nil where that is not known

	Input  int `json:"-"` // tokens of the requests that succeeded, as far as the server told
	Output int `json:"-"`

	TTFT Distribution `json:"ttft_seconds,omitzero"`
	TPOT Distribution `json:"tpot_seconds,omitzero"`
	ITL  Distribution `json:"itl_seconds,omitzero"`
	E2EL Distribution `json:"e2el_seconds,omitzero"`

	Objectives []Attainment `json:"objectives,omitempty"` // nil if there are none
	Met        int          `json:"-"`                    // requests that missed none of the objectives

	Budgets []Budget `json:"budgets,omitempty"` // of stored data

	Warnings Texts     `json:"warnings"` // sentences
	Excluded Texts     `json:"-"`        // of the warnings those about requests that are in no number, and why
	Requests []Request `json:"requests"` // that succeeded, by round; nil where it was stored
}

// Failures are requests that failed alike, and what to do about it.
type Failures struct {
	Outcome  probe.Outcome `json:"outcome"`
	Requests int           `json:"requests"`
	Error    string        `json:"error,omitzero"` // of the first of them, fit for a terminal; empty if nothing is known
	Hint     string        `json:"hint,omitzero"`  // see [Hint]
}

// A Distribution is how samples of one quantity are spread, in seconds. The zero value has none.
type Distribution struct {
	Count     int        `json:"count"`
	Mean      Number     `json:"mean"`
	Quantiles []Quantile `json:"quantiles"` // of [Shares], in their order; nil if Count is 0
}

// A Quantile is the value that a share of the samples does not exceed.
type Quantile struct {
	Share float64 `json:"share"`
	Value Number  `json:"value"`

	// Low and High are between what it is known to be: both Value where every
	// sample is known, the bounds of its bucket where it is from a histogram.
	Low  Number `json:"low"`
	High Number `json:"high"`
}

// Shares are those of the quantiles in a block.
func Shares() []float64 { return []float64{0.50, 0.75, 0.90, 0.95, 0.99} }

// Summarize sums up samples of one target, each with its ITLs: see [Step.Summary].
func Summarize(samples []Sample, objectives ...probe.Objective) Summary {
	var step Step
	for _, s := range samples {
		step.Add(s)
	}
	return step.Summary(objectives...)
}

// Summary sums up a step. What was canceled counts for nothing. The objectives are those of [SampleOf]. Load,
// PromptTokens, AtOnce and Skipped are the caller's to say.
func (s *Step) Summary(objectives ...probe.Objective) Summary {
	result := s.totals()
	counted, canceled := split(s.samples, notCanceled)
	good, failed := split(counted, succeeded)
	if len(s.samples) > 0 {
		result.Target = s.samples[0].Target
	}
	for _, q := range quantities {
		*q.in(&result) = Spread(q.values(good))
	}
	result.ITL = s.itl()
	result.Failures = failuresOf(failed)
	result.Excluded = excludedOf(good)
	result.Warnings = warningsOf(good, result.Excluded, len(canceled))
	result.Requests = requestsOf(good)
	result.attain(counted, objectives)
	return result
}

// failuresOf groups samples that failed, the most frequent failure first.
func failuresOf(failed []Sample) (list []Failures) {
	for _, s := range failed {
		i := slices.IndexFunc(list, func(f Failures) bool { return f.Outcome == s.Outcome && f.Hint == s.Hint })
		if i < 0 {
			i = len(list)
			list = append(list, Failures{Outcome: s.Outcome, Error: format.Clean(s.Error), Hint: s.Hint})
		}
		list[i].Requests++
	}
	slices.SortStableFunc(list, func(a, b Failures) int { return cmp.Compare(b.Requests, a.Requests) })
	return list
}

// Paced is s where a request was due in each interval. That after the last one counts as well, or the throughput of a few
// requests would be above the rate that was offered.
func (s Summary) Paced(interval time.Duration) Summary {
	s.Duration = max(s.Duration, time.Duration(s.Slots())*interval)
	return s
}

// Slots is the number of requests that were made or skipped.
func (s Summary) Slots() int { return s.Sent() + sum(s.Skipped) }

// Sent is the number of requests that were made.
func (s Summary) Sent() int { return sum(s.Outcomes) }

// Succeeded is the number of requests that did.
func (s Summary) Succeeded() int { return s.Outcomes[probe.OK] }

// Failed is the number of requests that did not succeed.
func (s Summary) Failed() int { return s.Sent() - s.Succeeded() }

// Refused is the number of requests that failed for our key, quota or prompt, and are no events of an objective.
func (s Summary) Refused() (n int) {
	for _, o := range probe.Refusals() {
		n += s.Outcomes[o]
	}
	return n
}

func sum[K comparable](counts map[K]int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// A Throughput is the tokens of a [Summary], and what a second brought. What is unknown is NaN.
type Throughput struct {
	Input     Number `json:"input_tokens"`
	Generated Number `json:"output_tokens"`
	Requests  Number `json:"requests_per_second"`
	Output    Number `json:"output_tokens_per_second"`
	Total     Number `json:"total_tokens_per_second"`
	Good      Number `json:"-"`
}

// Throughput is that of s.
func (s Summary) Throughput() Throughput {
	seconds := Number(s.Duration.Seconds())
	switch {
	case seconds > 0:
	case s.Succeeded() == 0:
		seconds = 1 // nothing in no time is nothing a second
	default:
		seconds = none
	}
	told := func(n int) Number {
		if n == 0 && s.Succeeded() > 0 { // who succeeds has tokens: no server told them
			return none
		}
		return Number(n)
	}
	input, output, met := told(s.Input), told(s.Output), Number(s.Met)
	if slices.ContainsFunc(s.Objectives, func(a Attainment) bool { return a.Judged == 0 }) {
		met = none
	}
	return Throughput{input, output, Number(s.Succeeded()) / seconds, output / seconds, (input + output) / seconds, met / seconds}
}

// Spread is how values are spread that are all known, in seconds and in any order.
func Spread(values []float64) Distribution {
	if len(values) == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(values))
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	d := Distribution{Count: len(sorted), Mean: Number(sum / float64(len(sorted)))}
	for _, share := range Shares() {
		v := Number(QuantileOf(sorted, share))
		d.Quantiles = append(d.Quantiles, Quantile{Share: share, Value: v, Low: v, High: v})
	}
	return d
}

// At is the quantile of a share, in seconds; NaN if d has none of that share.
func (d Distribution) At(share float64) Number {
	for _, q := range d.Quantiles {
		if q.Share == share {
			return q.Value
		}
	}
	return none
}

// QuantileOf interpolates between the two ranks closest to
//
//	h = (n − 1) · share
//
// of a sorted list that is not empty. It is definition 7 of Hyndman and Fan, Sample Quantiles in Statistical Packages
// (1996), and the default of R and numpy, and so of the tools whose tables are compared with ours.
func QuantileOf[T ~int64 | ~float64](sorted []T, share float64) T {
	h := float64(len(sorted)-1) * share
	below := int(h)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + T((h-float64(below))*float64(sorted[above]-sorted[below]))
}

func median(values []float64) float64 {
	return QuantileOf(slices.Sorted(slices.Values(values)), 0.5)
}

func finite[T ~float64](v T) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
