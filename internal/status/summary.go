package status

import (
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A summary is what the results of the last hour say. Failed ones put no number into its quantiles.
type summary struct {
	Results   int                   `json:"results"`
	OKResults int                   `json:"ok_results"`
	OKRatio   *float64              `json:"ok_ratio"`
	Outcomes  map[probe.Outcome]int `json:"outcomes"` // only those that happened
	Quantiles struct {
		TTFT quantiles `json:"ttft"`
		TPOT quantiles `json:"tpot"`
		ITL  quantiles `json:"itl"` // every token weighs the same
		E2EL quantiles `json:"e2el"`
	} `json:"quantiles_seconds"`

	contaminated int // cold prompts that the server's cache knew
	tainted      int // probes that the prober read late
}

// Quantiles of n values, in seconds. Both are absent without a value.
type quantiles struct {
	N   int      `json:"n"`
	P50 *float64 `json:"p50"`
	P95 *float64 `json:"p95"`
}

// summarize takes one value a probe for TTFT, TPOT and E2EL, and one a token for ITL.
func summarize(entries []*entry) summary {
	s := summary{Results: len(entries), Outcomes: map[probe.Outcome]int{}}
	var ttft, tpot, itl, e2el []float64
	for _, e := range entries {
		s.Outcomes[e.Outcome]++
		if e.Cache == probe.CacheContaminated {
			s.contaminated++
		}
		if e.Taint != nil {
			s.tainted++
		}
		if !e.OK() {
			continue
		}
		if e.TTFTValid {
			ttft = appendKnown(ttft, e.TTFT)
		}
		tpot = appendKnown(tpot, e.TPOT)
		e2el = appendKnown(e2el, e.E2EL)
		itl = append(itl, e.account().ITL...)
	}
	s.OKResults = s.Outcomes[probe.OK]
	if s.Results > 0 {
		s.OKRatio = new(float64(s.OKResults) / float64(s.Results))
	}
	q := &s.Quantiles
	q.TTFT, q.TPOT, q.ITL, q.E2EL = quantilesOf(ttft), quantilesOf(tpot), quantilesOf(itl), quantilesOf(e2el)
	return s
}

// rows are the quantiles in the order of the page.
func (s *summary) rows() [4]quantiles {
	return [...]quantiles{s.Quantiles.TTFT, s.Quantiles.TPOT, s.Quantiles.ITL, s.Quantiles.E2EL}
}

func appendKnown(list []float64, v *float64) []float64 {
	if v == nil {
		return list
	}
	return append(list, *v)
}

// quantilesOf sorts values. Quantiles are in whole nanoseconds, as the values are.
func quantilesOf(values []float64) quantiles {
	if len(values) == 0 {
		return quantiles{}
	}
	slices.Sort(values)
	quantile := func(share float64) *float64 { return new(math.Round(report.QuantileOf(values, share)*1e9) / 1e9) }
	return quantiles{N: len(values), P50: quantile(0.5), P95: quantile(0.95)}
}

// median of values in any order; nil if there is none.
func median(values []float64) *float64 { return quantilesOf(slices.Clone(values)).P50 }

// summarized is the summary of so many results, which follow each other, and the first of them.
type summarized struct {
	first *entry
	n     int
	summary
}

// A period is a part of the last hour of which a history has the summary.
type period int

const (
	wholeHour period = iota
	present          // the last ten minutes
	usual            // what is older
)

// summarize summarizes consecutive results of the ring: the first and their number tell them all.
func (h *history) summarize(p period, entries []*entry) summary {
	if len(entries) == 0 {
		return summarize(nil)
	}
	s := h.cache[p].Load()
	if s == nil || s.first != entries[0] || s.n != len(entries) {
		s = &summarized{entries[0], len(entries), summarize(entries)}
		h.cache[p].Store(s)
	}
	return s.summary
}
