package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestFixedProfiles holds that they have the measured figures, and that no jitter makes a token come before the last.
func TestFixedProfiles(t *testing.T) {
	start := time.Now()
	for _, p := range Profiles() {
		p.TTFTJitter, p.TPOTJitter = 0, 0
		at := p.alone(start, p.PromptTokens, 0, 11, rand.New(rand.NewPCG(1, 1))).times
		if first, ten := at[0].Sub(start), at[10].Sub(at[0]); first != p.TTFT || ten != 10*p.TPOT {
			t.Errorf("%s: TTFT %v, ten tokens later %v", p.Name, first, ten)
		}
		p.TPOTJitter = 5 // far more than a gap
		at = p.alone(start, 100, 0, 1000, rand.New(rand.NewPCG(1, 1))).times
		if !slices.IsSortedFunc(at, time.Time.Compare) {
			t.Errorf("%s: a token is due before the one before it", p.Name)
		}
	}
}
