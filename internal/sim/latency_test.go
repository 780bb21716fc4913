package sim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// drawn are the figures of many answers of a profile, in milliseconds.
type drawn struct{ ttft, ttftSD, tpot, worst float64 }

// draw plans answers of n tokens to prompts of the profile's reference length with seeds 0 to 3,999.
func draw(p Profile, n int) drawn {
	const answers = 4000
	var d drawn
	var sum, square float64
	mean := float64(p.TTFT) / 1e6
	for seed := range uint64(answers) {
		f := newFixed(p, time.Unix(0, 0), p.PromptTokens, 0, rand.New(rand.NewPCG(seed, 1)))
		first := float64(f.offset(0)) / 1e6
		last := float64(f.offset(n-1)) / 1e6
		sum += first - mean
		square += (first - mean) * (first - mean)
		d.tpot += (last - first) / float64(n-1) / answers
		d.worst = max(d.worst, math.Abs(first-mean))
	}
	d.ttft = mean + sum/answers
	d.ttftSD = math.Sqrt(square / answers)
	return d
}

func TestFixedProfilesHaveTheMeasuredFigures(t *testing.T) {
	for _, test := range []struct {
		name           string
		ttft, sd, tpot float64 // ms
	}{
		{"production-stack", 796.1, 4, 2.8},
		{"ray-serve", 822.6, 2.5, 7.36},
		{"tgi", 123.5, 1, 43.5},
		{"fast", 20, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := draw(profile(t, test.name), 100)
			// Three standard errors of 4,000 draws; clipping takes 1.3% of the standard deviation.
			if math.Abs(got.ttft-test.ttft) > 3*test.sd/math.Sqrt(4000) {
				t.Errorf("mean TTFT %.3f ms, want %.3f", got.ttft, test.ttft)
			}
			if got.ttftSD > 1.04*test.sd || got.ttftSD < 0.94*test.sd {
				t.Errorf("standard deviation of TTFT %.3f ms, want %.3f", got.ttftSD, test.sd)
			}
			if got.worst > 3*test.sd+1e-6 {
				t.Errorf("a TTFT is %.3f ms off, want at most three standard deviations", got.worst)
			}
			if math.Abs(got.tpot/test.tpot-1) > 1e-4 {
				t.Errorf("mean TPOT %.5f ms, want %.5f", got.tpot, test.tpot)
			}
		})
	}
}

func TestTokensNeverGoBack(t *testing.T) {
	p := profile(t, "fast")
	p.TPOTJitter = 5 // far more than a gap
	f := newFixed(p, time.Time{}, 100, 0, rand.New(rand.NewPCG(1, 1)))
	before, moved := time.Duration(0), 0
	for k := range 1000 {
		at := f.offset(k)
		if at < before {
			t.Fatalf("token %d is due at %v, before token %d at %v", k, at, k-1, before)
		}
		if at > before {
			moved++
		}
		before = at
	}
	if moved < 10 {
		t.Errorf("only %d tokens have a moment of their own", moved)
	}
}
