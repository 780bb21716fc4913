package report

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// A Step collects the requests to one target in one step of a bench, and sums them up. Its memory grows with the
// requests, but not with their tokens: see [tokenITLs]. The zero value is empty. It is not safe for concurrent use.
type Step struct {
	samples []Sample // without their ITLs, in the order in which they ended
	itls    tokenITLs
}

// Add adds a request. The step keeps the sample without its ITLs, which it counts for all requests together.
func (s *Step) Add(sample Sample) {
	if sample.succeeded() {
		for _, itl := range sample.TokenITLs {
			s.itls.add(itl)
		}
	}
	sample.Timed = len(sample.TokenITLs)
	sample.TokenITLs = nil
	s.samples = append(s.samples, sample)
}

// Len returns the number of requests, canceled ones included.
func (s *Step) Len() int { return len(s.samples) }

// Samples returns the requests, without their ITLs. The step owns them: do not change them.
func (s *Step) Samples() []Sample { return s.samples }

// Interim sums up the requests so far: their outcomes, throughput and latencies but ITL. It only sorts a value of each
// request, so a run can show it again and again.
func (s *Step) Interim() Summary {
	counted := filter(s.samples, Sample.counts)
	return totalsOf(counted, filter(counted, Sample.succeeded))
}

// totalsOf returns the outcomes, throughput and latencies but ITL of samples. None is canceled. Good are
// the samples of these that succeeded.
func totalsOf(counted, good []Sample) Summary {
	result := Summary{Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{}}
	var ended time.Time // the last of them
	for _, sample := range counted {
		result.Outcomes[sample.Outcome]++
		if result.Start.IsZero() || sample.Start.Before(result.Start) {
			result.Start = sample.Start
		}
		end := sample.Start.Add(sample.Elapsed)
		if end.After(ended) {
			ended = end
		}
	}
	result.Duration = ended.Sub(result.Start)
	for _, sample := range good {
		result.InputTokens += sample.Prompt.N
		result.OutputTokens += sample.Output.N
	}
	for _, q := range quantities {
		if q.Name != nameITL {
			*q.InSummary(&result) = stats.DistributionOf(q.values(good))
		}
	}
	return result
}

// Summary sums up a step. Canceled requests do not count. The objectives must be those by which [SampleOf] judged.
// Load, PromptTokens, AtOnce and Skipped are left to the caller.
func (s *Step) Summary(objectives ...probe.Objective) Summary {
	counted := filter(s.samples, Sample.counts)
	good := filter(counted, Sample.succeeded)
	result := totalsOf(counted, good)
	if len(s.samples) > 0 {
		result.Target = s.samples[0].Target
	}
	canceled := len(s.samples) - len(counted)
	result.ITL = s.itls.distribution()
	result.Failures = failuresOf(filter(counted, Sample.failed))
	result.Excluded = exclusionWarnings(good)
	result.Warnings = summaryWarnings(good, result.Excluded, canceled)
	note := s.itls.note()
	if note != "" {
		result.Warnings = append(result.Warnings, note)
	}
	result.Requests = comparableRequests(good)
	result.addObjectives(counted, objectives)
	return result
}

// Summarize sums up samples of one target, which have their ITLs: see [Step.Summary].
func Summarize(samples []Sample, objectives ...probe.Objective) Summary {
	var step Step
	for _, s := range samples {
		step.Add(s)
	}
	return step.Summary(objectives...)
}

// SummarizeResults sums up results of one target, judged by its objectives. Without any result nothing is judged. Hints
// name settings as places do.
func SummarizeResults(
	target string, places Places, objectives []probe.Objective, results ...*probe.Result,
) Summary {
	var step Step
	for _, r := range results {
		step.Add(SampleOf(r, places, objectives...))
	}
	s := step.Summary(objectives...)
	s.Target = target
	return s
}

// maxKeptITLs is how many ITLs a step keeps, in 8 MB.
const maxKeptITLs = 1_000_000

// tokenITLs are the ITLs of all tokens of a step, in seconds. The first [maxKeptITLs] are all kept. Of more, this
// number is kept, drawn at random with the same chance for each (algorithm R of Vitter, Random Sampling with a
// Reservoir, 1985). Their mean is exact in any case. The quantile P99 of a random million is between P98.98 and P99.02
// of all, with 95% confidence: its share has a standard error of √(0.99 · 0.01 / 10⁶) = 0.01%.
type tokenITLs struct {
	count  int // of all tokens
	sum    float64
	kept   []float64
	random rand.PCG // the same in each run
}

func (t *tokenITLs) add(itl float64) {
	t.count++
	t.sum += itl
	if len(t.kept) < maxKeptITLs {
		t.kept = append(t.kept, itl)
		return
	}
	place := t.random.Uint64() % uint64(t.count) //nolint:gosec // positive
	if place < maxKeptITLs {
		t.kept[place] = itl
	}
}

func (t *tokenITLs) distribution() stats.Distribution {
	d := stats.DistributionOf(t.kept)
	if t.count > len(t.kept) {
		d.Count = t.count
		d.Mean = stats.Number(t.sum / float64(t.count))
	}
	return d
}

// note says that the quantiles are those of a part of the tokens; empty if they are of all.
func (t *tokenITLs) note() string {
	if t.count == len(t.kept) {
		return ""
	}
	return fmt.Sprintf("quantiles of ITL are those of %s tokens, drawn at random from %s",
		format.Grouped(len(t.kept)), format.Grouped(t.count))
}
