package report

import (
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// A Summary is what a block tells: one target's requests in one step of a bench,
// or in a range of time that was stored.
type Summary struct {
	Target string
	Model  string // that answered; empty if unknown
	URL    string // of the target, without credentials; empty if unknown
	Load   string // how it was asked, in words: "32 at once", "0.1 QPS"; empty where it was stored

	PromptTokens int // asked of each prompt; 0 if they differ or are unknown
	AtOnce       int // requests under way at once, where that was the load; 0 where it was a rate

	Start    time.Time     // of the first request, or of the range
	Duration time.Duration // from Start to the end of the last request, or of the range

	Outcomes map[probe.Outcome]int // requests by outcome; those that are missing are 0
	Skipped  map[probe.Skip]int    // slots without a request, by reason
	Failures []Failures            // why requests failed; nil where that is not known

	Input, Output int // tokens of the requests that succeeded, as far as the server told

	TTFT, TPOT, ITL, E2EL Distribution

	Warnings []string  // sentences
	Requests []Request // that succeeded, by round; nil where it was stored
}

// Succeeded is the number of requests that did.
func (s Summary) Succeeded() int { return s.Outcomes[probe.OK] }

// Failed is the number of requests that did not succeed.
func (s Summary) Failed() int {
	failed := 0
	for outcome, n := range s.Outcomes {
		if outcome != probe.OK {
			failed += n
		}
	}
	return failed
}

// A Distribution is how samples of one quantity are spread, in seconds. The zero
// value has none.
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
