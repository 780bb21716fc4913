package stats

import (
	"math"
	"slices"
	"testing"
)

// ladderPairs returns TTFT, TPOT, ITL and E2EL of a step of a ladder. Two identical builds answer the same prompts. As on
// real servers, latencies are skewed, and some are several times as long. What makes a request slow shows in several
// quantities: E2EL is TTFT and all tokens, ITL is the median of what TPOT is the mean of, and prompts are hard or easy
// for both. Requests that are under way together share a batch, which is quick or slow for all of them.
func (r random) ladderPairs(requests, concurrency int) [][]Pair {
	const tokens = 99
	drift := 1.0 // of the machine under both
	list := make([][]Pair, 4)
	var batch [2]float64
	for i := range requests {
		if i%concurrency == 0 {
			batch = [2]float64{math.Exp(0.2 * r.NormFloat64()), math.Exp(0.2 * r.NormFloat64())}
		}
		drift *= math.Exp(0.02 * r.NormFloat64())
		hard := math.Exp(0.2 * r.NormFloat64())
		var ttft, tpot, itl, e2el [2]float64
		for side := range 2 {
			drift := drift * batch[side]
			ttft[side] = 0.8 * drift * hard * math.Exp(0.3*r.NormFloat64())
			if r.Float64() < 0.1 { // waited in a queue
				ttft[side] *= 1 + 3*r.ExpFloat64()
			}
			itl[side] = 0.003 * drift * math.Exp(0.05*r.NormFloat64())
			tpot[side] = itl[side] * (1 + 0.1*r.ExpFloat64()) // stalls make the mean longer, not the median
			e2el[side] = ttft[side] + tokens*tpot[side]
		}
		for i, v := range [][2]float64{ttft, tpot, itl, e2el} {
			list[i] = append(list[i], Pair{A: v[0], B: v[1]})
		}
	}
	return list
}

// TestLadderOfIdenticalBuilds holds with -long that a ladder of five steps has the confidence of one comparison. At most
// 5% of runs of identical builds show any difference, which Bonferroni's inequality bounds whatever the steps have in
// common. The runs are such that it does not hold with pairs of single requests that share a batch.
func TestLadderOfIdenticalBuilds(t *testing.T) {
	if !*long {
		return
	}
	steps := []int{1, 2, 4, 8, 16} // requests under way together
	for _, test := range []struct {
		about    string
		together bool
		sure     bool
	}{
		{"batches are averaged", true, true},
		{"pairs are single requests", false, false},
	} {
		const runs, pairsOfStep = 1000, 30
		shown := 0
		for seed := range uint64(runs) {
			r := newRandom(seed)
			differs := false
			for _, concurrency := range steps {
				size := 1
				if test.together {
					size = concurrency
				}
				var step [][]Pair
				for _, pairs := range r.ladderPairs(pairsOfStep*concurrency, concurrency) {
					step = append(step, GroupMeans(pairs, size))
				}
				differs = differs || slices.ContainsFunc(Compare(step, len(steps)), isShown)
			}
			if differs {
				shown++
			}
		}
		if sure := shown <= runs/20; sure != test.sure {
			t.Errorf("%s: %d of %d runs show a difference", test.about, shown, runs)
		}
	}
}

// TestPairsThatFindADifference holds with -long what docs/bench.md says: how many pairs show, in 95% of runs, a
// difference of that many standard deviations of a pair's differences.
func TestPairsThatFindADifference(t *testing.T) {
	if !*long {
		return
	}
	const deviation = 0.02 * math.Sqrt2 // of the logarithm of B / A: see run
	for deviations, pairs := range map[float64]int{2: 20, 1: 42, 0.5: 130} {
		_, found := power(2000, pairs, math.Exp(deviations*deviation), 0)
		if found < 0.95 {
			t.Errorf("%d pairs find %g deviations in %.3f of the runs", pairs, deviations, found)
		}
	}
}
