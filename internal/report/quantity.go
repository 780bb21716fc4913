package report

// A quantity is one of the latencies that summaries and comparisons have.
type quantity struct {
	name      string // "TTFT"
	title     string // of its part of a [Block]
	ofRequest func(*Request) *Number
	inSummary func(*Summary) *Distribution
}

// ITL is the one quantity that tokens have; the others are of requests.
const (
	quantityCount = 4
	indexITL      = 2
	nameITL       = "ITL"
)

// quantities are all quantities, in the order in which they are reported.
var quantities = [quantityCount]quantity{
	{
		name:      "TTFT",
		title:     "Time to First Token",
		ofRequest: func(r *Request) *Number { return &r.TTFT },
		inSummary: func(s *Summary) *Distribution { return &s.TTFT },
	},
	{
		name:      "TPOT",
		title:     "Time per Output Token (excl. 1st token)",
		ofRequest: func(r *Request) *Number { return &r.TPOT },
		inSummary: func(s *Summary) *Distribution { return &s.TPOT },
	},
	indexITL: {
		name:      nameITL,
		title:     "Inter-token Latency",
		ofRequest: func(r *Request) *Number { return &r.ITL },
		inSummary: func(s *Summary) *Distribution { return &s.ITL },
	},
	{
		name:      "E2EL",
		title:     "End-to-end Latency",
		ofRequest: func(r *Request) *Number { return &r.E2EL },
		inSummary: func(s *Summary) *Distribution { return &s.E2EL },
	},
}

// values returns the quantity of each sample that has it, in seconds.
func (q quantity) values(samples []Sample) (values []float64) {
	for _, s := range samples {
		v := float64(*q.ofRequest(&s.Request))
		if finite(v) {
			values = append(values, v)
		}
	}
	return values
}
