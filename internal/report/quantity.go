package report

import "github.com/llm-prober/prober/internal/stats"

// A Quantity is one of the latencies that summaries and comparisons have.
type Quantity struct {
	Name      string                             // "TTFT"
	InSummary func(*Summary) *stats.Distribution // returns the field of a summary that holds it

	title     string // of its section in a [Block]
	ofRequest func(*Latencies) *stats.Number
}

// quantityCount is the number of quantities.
const quantityCount = 4

// ITL is the only quantity of tokens. The others are of requests.
const (
	indexITL = 2
	nameITL  = "ITL"
)

// quantities are all quantities, in the order in which they are reported.
var quantities = [quantityCount]Quantity{
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
	indexITL: {
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
func Quantities() [quantityCount]Quantity { return quantities }

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
