package probe

import (
	"slices"
	"sync/atomic"
	"time"
)

// This file is what a [Member] does with its slots. A slot is a time at which a probe is due.

// A flight is a probe in flight.
type flight struct {
	prompt   string // name of the prompt that is asked
	start    time.Time
	answered atomic.Bool    // it only waits for the end of its connection
	blocked  map[string]int // slots that were skipped because of it; see [Result.Blocked]
}

// begin begins a flight in the present slot, which is one of a prompt, unless there is a reason to skip that. If as
// many as allowed are in flight already, the oldest one blocks the slot.
func (m *Member) begin(prompt string) (f *flight, reason Skip) {
	reason = m.Skipping()
	if reason != "" {
		return nil, reason
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.inFlight) == m.mostInFlight {
		oldest := m.inFlight[0]
		if oldest.blocked == nil {
			oldest.blocked = map[string]int{}
		}
		oldest.blocked[prompt]++
		return nil, SkipOverlap
	}
	f = &flight{prompt: prompt, start: time.Now()}
	m.inFlight = append(m.inFlight, f)
	return f, ""
}

// end ends a flight, and returns how many slots of each prompt it blocked.
func (m *Member) end(f *flight) (blocked map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.inFlight, f)
	m.inFlight = slices.Delete(m.inFlight, i, i+1)
	return f.blocked
}

// InFlight returns the number of probes of a prompt in flight and the start of the oldest; zero if there is none. A
// probe whose answer has ended is not in flight, although its connection is still waited for.
func (m *Member) InFlight(prompt string) (n int, oldest time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.inFlight {
		if f.prompt != prompt || f.answered.Load() {
			continue
		}
		if n == 0 {
			oldest = f.start
		}
		n++
	}
	return n, oldest
}

// Stuck returns how many requests did not return at their limit and have not since. Once there are two, slots are
// skipped as [SkipStuck]: the server, or a proxy on the way to it, hangs the HTTP client.
func (m *Member) Stuck() int { return int(m.target.Transport.stuck.n.Load()) }

// Skipping returns why the member's slots are skipped now; empty if they are not.
func (m *Member) Skipping() Skip {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.Draining.Load():
		return SkipDraining
	case m.Waiting.Load():
		return SkipWaiting
	case time.Now().Before(m.pausedUntil):
		return SkipBackoff
	case m.target.Transport.stuck.full():
		return SkipStuck
	}
	return ""
}

// Failing reports whether the last probe failed as if the server had ended, be it before it was sent. It says something
// about now: [server.Knowledge.MayHaveRestarted] is about what is known, and stays true until the next answer.
func (m *Member) Failing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failing
}

// noteResult notes whether a probe failed as if the server had ended, and the pause that the server asked for, up to
// the target's limit.
func (m *Member) noteResult(r *Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Outcome != Canceled {
		m.failing = r.Outcome.AsIfEnded() && r.Reason != ReasonToken // a token server says nothing about the target
	}
	pause := min(r.RetryAfter, m.target.Backoff)
	until := r.Start.Add(r.Elapsed + pause)
	if pause > 0 && until.After(m.pausedUntil) {
		m.pausedUntil = until
	}
}

// IgnorePauses makes m take no pause that the server asks for: somebody who sends a probe by hand wants to see the
// answer. It is called before the first probe.
func (m *Member) IgnorePauses() { m.target.Backoff = 0 }

// TakesPauses reports whether m takes the pauses that the server asks for.
func (m *Member) TakesPauses() bool { return m.target.Backoff > 0 }
