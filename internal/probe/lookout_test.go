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
		if d, ok := l.quiet(); d != want || ok != looks {
			t.Errorf("quiet for %v, looks %t; want %v, %t", d, ok, want, looks)
		}
	}
	next(50*ms, true)
	for _, wait := range []time.Duration{2000 * ms, 1000 * ms, 1200 * ms} {
		l.probed(wait, false)
	}
	next(850*ms, true)
	l.probed(1200*ms, false)
	next(850*ms, false)
	l.probed(1200*ms, true)
	next(850*ms, true)
	l.probed(1200*ms, false)
	next(1020*ms, true) // the 1,000 ms are forgotten
	for range 14 {
		l.probed(1200*ms, false)
	}
	next(1020*ms, true)
	l.probed(1200*ms, false)
	next(1020*ms, false)
}
