package stream

import (
	"slices"
	"testing"
	"time"
)

// looks returns the moments of all looks in a wait, counted from its begin.
func looks(w *watch, begin, end time.Time) (list []time.Duration) {
	for now := w.nextLook(begin); !now.IsZero() && now.Before(end); now = w.nextLook(now) {
		list = append(list, now.Sub(begin))
	}
	return list
}

// TestLooksAtAWait holds when a wait for an answer is looked at: not before it is expected, then so often that the last
// look is never older than 1/40 of the wait, and not often at all.
func TestLooksAtAWait(t *testing.T) {
	start := time.Now()
	for _, test := range []struct {
		quiet, wait time.Duration
		first       time.Duration
		n           int
	}{
		{1275 * time.Millisecond, 1500 * time.Millisecond, 1275 * time.Millisecond, 7},
		{50 * time.Millisecond, 1500 * time.Millisecond, 50 * time.Millisecond, 138},
		{0, 50 * time.Millisecond, time.Millisecond, 49},
		{time.Second, time.Second, 0, 0},
	} {
		var w watch
		w.start(start, test.quiet)
		list := looks(&w, start, start.Add(test.wait))
		if len(list) != test.n {
			t.Errorf("%+v: %d looks", test, len(list))
		}
		if test.n == 0 {
			continue
		}
		if list[0] != test.first {
			t.Errorf("%+v: the first look after %v", test, list[0])
		}
		for i, at := range append(list[1:], test.wait) {
			if step := at - list[i]; step > max(minLook, at/lookPart) {
				t.Errorf("%+v: no look for %v before %v", test, step, at)
			}
		}
	}
}

// TestLooksAtGaps holds that gaps are looked at once they are ten times as long as usual ones, of which a pause is
// none.
func TestLooksAtGaps(t *testing.T) {
	const ms = time.Millisecond
	eight := func(gap time.Duration) []time.Duration { return slices.Repeat([]time.Duration{gap}, 8) }
	for name, test := range map[string]struct {
		gaps  []time.Duration
		first time.Duration // look at the gap after them; 0: there is none
	}{
		"no gap is known":         {nil, 0},
		"one gap is known":        {[]time.Duration{20 * ms}, 0},
		"two gaps":                {[]time.Duration{20 * ms, 21 * ms}, 200 * ms},
		"a pause":                 {[]time.Duration{20 * ms, 20 * ms, 2000 * ms, 20 * ms}, 200 * ms},
		"two pauses":              {[]time.Duration{20 * ms, 2000 * ms, 3000 * ms, 20 * ms}, 20000 * ms},
		"pauses long ago":         {append([]time.Duration{900 * ms, 900 * ms}, eight(5*ms)...), 50 * ms},
		"bursts of four":          {slices.Repeat([]time.Duration{ms / 2, ms / 2, ms / 2, 48 * ms}, 2), 480 * ms},
		"frames faster than 1 ms": {eight(ms / 20), ms},
	} {
		var w watch
		now := time.Now()
		w.start(now, time.Hour)
		w.read(now) // of a header: the first wait goes on
		w.endFirstWait(now)
		for _, gap := range test.gaps {
			now = now.Add(gap)
			w.read(now)
		}
		first := time.Duration(0)
		if at := w.nextLook(now); !at.IsZero() {
			first = at.Sub(now)
		}
		if first != test.first {
			t.Errorf("%s: first look after %v, want %v", name, first, test.first)
		}
	}
}
