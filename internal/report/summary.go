package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// A Summary is what a [Block] shows: the requests to one target in one step of a bench, or in a range of time of which
// data is stored.
type Summary struct {
	Target string
	Model  string // that answered; empty if unknown
	URL    string // of the target, without credentials; empty if unknown

	// Vantage is where the probers stood whose data was stored; empty if they did not say, or if the data was not stored.
	Vantage string

	// Load is how the target was asked, in words: "32 at once", "0.1 QPS". It is empty if the data was stored.
	Load         string
	Prompt       string // name; empty if the target has only one, or if the data was stored
	PromptTokens int    // that were asked for; 0 if prompts differ, or if unknown
	AtOnce       int    // requests under way at once; 0 if the load was a rate

	Start    time.Time     // of the first request, or of the range
	Duration time.Duration // from Start to the end of the last request, or of the range

	Outcomes map[probe.Outcome]int // requests by outcome; an outcome that is missing has none
	Skipped  map[probe.Skip]int    // slots without a request, by reason
	Failures []Failures            // why requests failed; nil if that is not known

	InputTokens  int // of the requests that succeeded, as far as the server reported them
	OutputTokens int

	TTFT stats.Distribution
	TPOT stats.Distribution
	ITL  stats.Distribution
	E2EL stats.Distribution

	Objectives []Attainment // nil if there are none
	Met        int          // requests that missed none of the objectives

	Budgets []Budget // of stored data

	Warnings Texts       // sentences
	Excluded Texts       // those of Warnings that are about requests excluded from a number
	Requests []Latencies // that succeeded, by round; nil if the data was stored
}

// Failures are requests that failed in the same way, and what to do about it.
type Failures struct {
	Outcome  probe.Outcome `json:"outcome"`
	Requests int           `json:"requests"`
	Error    string        `json:"error,omitzero"` // of the first of them, fit for a terminal; empty if not known
	Hint     string        `json:"hint,omitzero"`  // see [Hint]
}

// failuresOf groups samples that failed by outcome and hint, the most frequent first.
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

// Paced returns s with the duration of a run in which one request was due in each interval. The interval after the last
// request counts, too: otherwise the throughput of a few requests would exceed the rate that was offered.
//
// Example: three requests, one every 2 s and each answered in 1 s, end after 5 s; at their rate, they stand for 6 s.
func (s Summary) Paced(interval time.Duration) Summary {
	s.Duration = max(s.Duration, time.Duration(s.Slots())*interval)
	return s
}

// Slots returns the number of requests that were made or skipped.
func (s Summary) Slots() int { return s.Sent() + sumOf(s.Skipped) }

// Sent returns the number of requests that were made.
func (s Summary) Sent() int { return sumOf(s.Outcomes) }

// Succeeded returns the number of requests that succeeded.
func (s Summary) Succeeded() int { return s.Outcomes[probe.OK] }

// Failed returns the number of requests that did not succeed.
func (s Summary) Failed() int { return s.Sent() - s.Succeeded() }

// Refused returns the number of requests that failed because of our key, quota or prompt.
func (s Summary) Refused() (n int) {
	for _, o := range probe.Refusals() {
		n += s.Outcomes[o]
	}
	return n
}

func sumOf[K comparable](counts map[K]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// A Throughput is the tokens of a [Summary], and its rates. What is not known is NaN.
type Throughput struct {
	InputTokens  stats.Number
	OutputTokens stats.Number
	RequestRate  stats.Number // requests per second that succeeded
	OutputRate   stats.Number // tokens per second
	TotalRate    stats.Number // tokens of prompts and answers per second
	Goodput      stats.Number // requests per second that missed no objective
}

// Throughput returns the throughput of s.
func (s Summary) Throughput() Throughput {
	seconds := stats.Number(s.Duration.Seconds())
	if seconds <= 0 {
		seconds = noValue
		if s.Succeeded() == 0 {
			seconds = 1 // nothing in no time is nothing per second
		}
	}
	met := stats.Number(s.Met)
	if slices.ContainsFunc(s.Objectives, func(a Attainment) bool { return a.Judged == 0 }) {
		met = noValue
	}
	input, output := s.reportedTokens(s.InputTokens), s.reportedTokens(s.OutputTokens)
	return Throughput{
		InputTokens:  input,
		OutputTokens: output,
		RequestRate:  stats.Number(s.Succeeded()) / seconds,
		OutputRate:   output / seconds,
		TotalRate:    (input + output) / seconds,
		Goodput:      met / seconds,
	}
}

// reportedTokens returns n, a sum of tokens. If it is 0 although requests succeeded, the server does not report tokens,
// and the result is NaN.
func (s Summary) reportedTokens(n int) stats.Number {
	if n == 0 && s.Succeeded() > 0 {
		return noValue
	}
	return stats.Number(n)
}

// A Quantity is one of the latencies that summaries and comparisons have.
type Quantity struct {
	Name      string                             // "TTFT"
	InSummary func(*Summary) *stats.Distribution // returns the field of a summary that holds it

	title     string // of its section in a [Block]
	ofRequest func(*Latencies) *stats.Number
}

// nameITL is the name of the only quantity of tokens. The others are of requests.
const nameITL = "ITL"

// quantities are all quantities, in the order in which they are reported.
var quantities = [4]Quantity{
	{
		Name:      "TTFT",
		InSummary: func(s *Summary) *stats.Distribution { return &s.TTFT },
		title:     "Time to First Token",
		ofRequest: func(r *Latencies) *stats.Number { return &r.TTFT },
	},
	{
		Name:      "TPOT",
		InSummary: func(s *Summary) *stats.Distribution { return &s.TPOT },
		title:     "Time per Output Token (excl. 1st token)",
		ofRequest: func(r *Latencies) *stats.Number { return &r.TPOT },
	},
	{
		Name:      nameITL,
		InSummary: func(s *Summary) *stats.Distribution { return &s.ITL },
		title:     "Inter-token Latency",
		ofRequest: func(r *Latencies) *stats.Number { return &r.ITL },
	},
	{
		Name:      "E2EL",
		InSummary: func(s *Summary) *stats.Distribution { return &s.E2EL },
		title:     "End-to-end Latency",
		ofRequest: func(r *Latencies) *stats.Number { return &r.E2EL },
	},
}

// Quantities returns all quantities, in the order in which they are reported.
func Quantities() [4]Quantity { return quantities }

// values returns the quantity of each sample that has it, in seconds.
func (q Quantity) values(samples []Sample) (values []float64) {
	for _, s := range samples {
		v := float64(*q.ofRequest(&s.Latencies))
		if stats.Finite(v) {
			values = append(values, v)
		}
	}
	return values
}

// headline returns the target of s, and how it was asked.
func headline(s Summary) string {
	words := nonEmpty(format.Clean(s.Target), format.Clean(s.Load), format.Clean(s.Prompt))
	if s.PromptTokens > 0 {
		words = append(words, "prompts of "+format.Count(s.PromptTokens, "token"))
	}
	return strings.Join(words, ", ")
}

// shownFailures returns the most frequent kinds of failures of s: those whose texts are shown.
func (s Summary) shownFailures() []Failures {
	const maxKinds = 3
	return s.Failures[:min(len(s.Failures), maxKinds)]
}

// failureText says how many requests of s failed in one way, and how the first of them did.
func (s Summary) failureText(f Failures) string {
	const maxError = 300               // columns
	total := max(s.Sent(), f.Requests) // a warm-up that failed is not among those sent
	text := nOfTotal(f.Requests, total, "request") + " failed (" + string(f.Outcome) + ")"
	if f.Error != "" {
		text += ": " + format.Shorten(format.Clean(f.Error), maxError)
	}
	return text
}

// remarks returns what failed and was skipped of s, and its warnings.
func (s Summary) remarks() []string {
	var list []string
	for _, f := range s.shownFailures() {
		list = append(list, strings.Join(nonEmpty(s.failureText(f), f.Hint), "; "))
	}
	if s.Failures == nil && s.Failed() > 0 { // stored data
		failed := maps.Clone(s.Outcomes)
		delete(failed, probe.OK)
		list = append(list, nOfTotal(s.Failed(), s.Sent(), "request")+" failed: "+countsText(failed))
	}
	skipped := sumOf(s.Skipped)
	if skipped > 0 {
		list = append(list, nOfTotal(skipped, s.Slots(), "request")+" skipped: "+countsText(s.Skipped))
	}
	return append(list, s.Warnings...)
}
