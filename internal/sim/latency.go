package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// source says when the tokens of one answer are due. It belongs to one goroutine.
type source interface {
	// due returns the moment at which token k, counted from 0, is ready; k never decreases from call to call. It may
	// block until that moment is known, at most until limit (zero: for ever): then known is false. The error is ctx's.
	due(ctx context.Context, k int, limit time.Time) (at time.Time, known bool, err error)
	// close tells that the answer is over and its place may be given away.
	close()
}

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

// fixed is the source of a server that is always alone:
//
//	first   = base + PrefillFixed + prefill(cached, prompt) + jitter
//	token k = first + k·TPOT + jitter(k), never before token k−1
type fixed struct {
	origin time.Time
	first  time.Duration
	tpot   time.Duration
	sd     float64 // of a token's moment, in nanoseconds
	random *rand.Rand
	last   int           // token that at belongs to; −1 before the first
	at     time.Duration // offset of token last
}

// newFixed plans an answer to a prompt whose first cached tokens need no prefill. random gives the jitter and
// belongs to the source from now on.
func newFixed(p Profile, origin time.Time, prompt, cached int, random *rand.Rand) *fixed {
	first := p.base() + p.PrefillFixed + p.prefill(cached, prompt) + normal(random, float64(p.TTFTJitter))
	return &fixed{origin: origin, first: max(0, first), tpot: p.TPOT, sd: p.TPOTJitter * float64(p.TPOT), random: random, last: -1}
}

// offset is when token k is due, from the origin.
func (f *fixed) offset(k int) time.Duration {
	for f.last < k {
		f.last++
		if f.last == 0 {
			f.at = f.first
			continue
		}
		due := f.first + time.Duration(f.last)*f.tpot + normal(f.random, f.sd)
		f.at = max(f.at, due)
	}
	return f.at
}

func (f *fixed) due(ctx context.Context, k int, _ time.Time) (time.Time, bool, error) {
	return f.origin.Add(f.offset(k)), true, ctx.Err()
}

func (f *fixed) close() {}

// normal draws from a normal distribution around 0 with standard deviation sd in nanoseconds, clipped at three of them.
// It always takes its draw, so that one knob turned to 0 leaves the other draws of a seed as they were.
func normal(r *rand.Rand, sd float64) time.Duration {
	z := min(3, max(-3, r.NormFloat64()))
	return time.Duration(math.Round(z * sd))
}
