package report

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// noon is when the first request of tests starts.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// answer is a good answer of 100 tokens, ten seconds after that of the round
// before.
func answer(target string, round int, ttft, tpot float64) Sample {
	s := Sample{
		Request: Request{Round: uint64(round), TTFT: Number(ttft), TPOT: Number(tpot), E2EL: Number(ttft + 99*tpot)},
		Target:  target, Start: noon().Add(time.Duration(round) * 10 * time.Second),
		Outcome: probe.OK, Prompt: wire.Tokens(21073), Output: wire.Tokens(100), Frames: 100,
	}
	s.Elapsed = time.Duration(float64(s.E2EL) * float64(time.Second))
	for i := range 99 {
		s.ITLs = append(s.ITLs, tpot*(1+0.01*float64(i%3-1)))
	}
	s.ITL = Number(median(s.ITLs))
	return s
}

// none is what is unknown.
func none() Number { return Number(math.NaN()) }

// failure is a request that failed after a second.
func failure(target string, round int, o probe.Outcome) Sample {
	return Sample{
		Request: Request{Round: uint64(round)}, Target: target, Start: noon().Add(time.Duration(round) * 10 * time.Second),
		Outcome: o, Elapsed: time.Second,
	}
}

// answers are n rounds of one target with seeded noise, a share of the value.
func answers(target string, n int, ttft, tpot, noise float64, seed uint64) []Sample {
	r := rand.New(rand.NewPCG(seed, uint64(len(target))))
	var list []Sample
	for i := range n {
		list = append(list, answer(target, i, ttft*math.Exp(noise*r.NormFloat64()), tpot*math.Exp(noise*r.NormFloat64())))
	}
	return list
}

// with is samples with something done to some of them.
func with(samples []Sample, change func(s *Sample), which ...int) []Sample {
	list := append([]Sample{}, samples...)
	for _, i := range which {
		change(&list[i])
	}
	return list
}

// all are the places of n samples.
func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
