package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// prefill is the time that the tokens of a prompt from position from to position to take:
//
//	(to − from)/PrefillRate + PrefillCurve·(to² − from²)
func (p Profile) prefill(from, to int) time.Duration {
	if to <= from {
		return 0
	}
	linear := 0.0
	if p.PrefillRate > 0 {
		linear = float64(to-from) / p.PrefillRate * float64(time.Second)
	}
	square := p.PrefillCurve * (float64(to)*float64(to) - float64(from)*float64(from))
	return time.Duration(math.Round(linear + square))
}

// base is the part of TTFT that no prompt length changes and no other request: TTFT = base + PrefillFixed + prefill, exact
// at PromptTokens. Never negative.
func (p Profile) base() time.Duration {
	return max(0, p.TTFT-p.PrefillFixed-p.prefill(0, p.PromptTokens))
}

// alone is the answer of a server that is always alone, to a prompt whose first cached tokens need no prefill:
//
//	first   = base + PrefillFixed + prefill(cached, prompt) + jitter
//	token k = first + k·TPOT + jitter(k), never before token k−1
func (p Profile) alone(origin time.Time, prompt, cached, want int, random *rand.Rand) *sequence {
	first := max(0, p.base()+p.PrefillFixed+p.prefill(cached, prompt)+normal(random, float64(p.TTFTJitter)))
	q := &sequence{times: make([]time.Time, want)}
	at := first
	for k := range want {
		if k > 0 {
			at = max(at, first+time.Duration(k)*p.TPOT+normal(random, p.TPOTJitter*float64(p.TPOT)))
		}
		q.times[k] = origin.Add(at)
	}
	return q
}

// normal draws from a normal distribution around 0 with standard deviation sd in nanoseconds, clipped at three of them.
// It always takes its draw, so that one knob turned to 0 leaves the other draws of a seed as they were.
func normal(r *rand.Rand, sd float64) time.Duration {
	z := min(3, max(-3, r.NormFloat64()))
	return time.Duration(math.Round(z * sd))
}
