package sim

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestFixedProfiles holds that they have the measured figures, and that no jitter makes a token come before the last.
func TestFixedProfiles(t *testing.T) {
	for _, p := range Profiles() {
		p.TTFTJitter, p.TPOTJitter = 0, 0
		f := newFixed(p, time.Time{}, p.PromptTokens, 0, rand.New(rand.NewPCG(1, 1)))
		if first, tenth := f.offset(0), f.offset(10); first != p.TTFT || tenth-first != 10*p.TPOT {
			t.Errorf("%s: TTFT %v, ten tokens later %v", p.Name, first, tenth)
		}
		p.TPOTJitter = 5 // far more than a gap
		f = newFixed(p, time.Time{}, 100, 0, rand.New(rand.NewPCG(1, 1)))
		for k := range 1000 {
			if at, next := f.offset(k), f.offset(k+1); next < at {
				t.Fatalf("%s: token %d is due at %v, the next at %v", p.Name, k, at, next)
			}
		}
	}
}
