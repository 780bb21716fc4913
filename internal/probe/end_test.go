package probe

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTheEndOfTheBodyIsAwaited holds what the end of an answer costs: nothing where the body ends with it, else at most
// a second, which is no part of the probe's time. A connection whose answer stays open is not used again, and that is
// noted of the server.
func TestTheEndOfTheBodyIsAwaited(t *testing.T) {
	whole := after(ms, token).then(ms, token, limit, usage(80, 2), done)
	for name, test := range map[string]struct {
		server     script
		took       time.Duration // until the probe returned
		leavesOpen bool
		reused     bool // the connection, by a second probe
	}{
		"the body ends with the answer":     {whole, 2 * ms, false, true},
		"it ends a bit later":               {whole.then(900*ms, "[DONE]"), 902 * ms, false, true},
		"it stays open":                     {whole.hangs(), 1002 * ms, true, false},
		"frames come for ever":              {append(whole, tokens(100, 100*ms)...), 1002 * ms, true, false},
		"the finish reason without its end": {after(ms, token).then(ms, token, limit).hangs(), 2*ms + 30*time.Second, true, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			target, _ := serveCounting(t, test.server.stream, Route{Reuse: true})
			m := NewMember(target, "m", 1)
			m.known.Identified = true // so that only probes are sent
			began := time.Now()
			r := m.Probe(t.Context(), question(2))
			endsAs(t, r, OK, "")
			equal(t, "took", test.took, time.Since(began))
			if test.took < 30*time.Second {
				equal(t, "elapsed", 2*ms, r.Elapsed)
			}
			equal(t, "leaves connections open", test.leavesOpen, m.Knowledge().LeavesOpen)
			second := m.Probe(t.Context(), question(2))
			equal(t, "reused", test.reused, second.Timeline.Phases.Reused)
		})
	}
}

// TestAnAnswerThatHasEndedIsNotInFlight holds that a probe which only waits for the end of its connection does not look
// like one that hangs.
func TestAnAnswerThatHasEndedIsNotInFlight(t *testing.T) {
	inBubble(t, "open", func(t *testing.T) {
		m := NewMember(serve(t, after(ms, token).then(ms, token, limit, usage(80, 2), done).hangs().stream), "m", 1)
		m.known.Identified = true
		g := &Group{
			Members: []*Member{m}, Interval: time.Minute, Recorder: &log{},
			Questions: &questions{log: &log{}, written: map[uint64]bool{}},
		}
		go g.Turn(t.Context(), 0, 0, time.Now())
		for at, want := range []int{1, 1, 0, 0} {
			time.Sleep(ms - 1)
			synctest.Wait()
			if n, _ := m.InFlight("p"); n != want {
				t.Errorf("%d in flight after %d ms, want %d", n, at+1, want)
			}
			time.Sleep(time.Nanosecond)
		}
		if _, reason := m.begin("p"); reason == "" {
			t.Error("its slot is free before its connection is")
		}
		time.Sleep(time.Second)
	})
}
