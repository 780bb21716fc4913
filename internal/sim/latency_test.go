package sim

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestFixedProfilesHaveTheMeasuredFigures(t *testing.T) {
	for _, p := range Profiles() {
		p.TTFTJitter, p.TPOTJitter = 0, 0
		f := newFixed(p, time.Time{}, p.PromptTokens, 0, rand.New(rand.NewPCG(1, 1)))
		if first, tenth := f.offset(0), f.offset(10); first != p.TTFT || tenth-first != 10*p.TPOT {
			t.Errorf("%s: TTFT %v, ten tokens later %v", p.Name, first, tenth)
		}
	}
}

func TestTokensNeverGoBack(t *testing.T) {
	p := profile(t, "fast")
	p.TPOTJitter = 5 // far more than a gap
	f := newFixed(p, time.Time{}, 100, 0, rand.New(rand.NewPCG(1, 1)))
	before := time.Duration(0)
	for k := range 1000 {
		at := f.offset(k)
		if at < before {
			t.Fatalf("token %d is due at %v, before token %d at %v", k, at, k-1, before)
		}
		before = at
	}
}
