package probe

import (
	"testing"
	"time"
)

// TestWhichProbesLook holds that the first probes of a target look, and later ones only after one that needed it: from
// a bit before the shortest of the last four waits on.
func TestWhichProbesLook(t *testing.T) {
	l := newLookout()
	next := func(want time.Duration, looks bool) {
		t.Helper()
		if d, ok := l.next(); d != want || ok != looks {
			t.Errorf("quiet for %v, looks %t; want %v, %t", d, ok, want, looks)
		}
	}
	next(50*ms, true)
	for _, wait := range []time.Duration{2000 * ms, 1000 * ms, 1200 * ms} {
		l.probed(wait, false)
	}
	for range firstLooks - 1 {
		next(850*ms, true)
	}
	next(0, false) // although none of them has ended
	l.probed(1200*ms, true)
	next(850*ms, true)
	for range recentWaits {
		l.probed(1200*ms, false)
	}
	for range needLooks - 1 {
		next(1020*ms, true) // the 1,000 ms are forgotten
	}
	next(0, false)
}
