//go:build !race

package stream

// The race detector makes sync.Pool forget, so allocations are counted without it.

import "testing"

func TestFramesAllocateNothing(t *testing.T) {
	const line = `{"model":"m","created_at":"2026-01-01T00:00:00Z","response":" token","done":false}` + "\n"
	for _, ask := range []int{1, 4096} {
		for name, s := range map[string]*Frames{
			"lines": NewLines(&cycle{text: line}, noStamp, ask), "events": NewSSE(&cycle{text: chunkFrame}, noStamp, ask),
			"many events a read": NewSSE(endless(chunkFrame), noStamp, 4096),
		} {
			next := func() {
				if _, err := s.Next(); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				next()
			}
			if n := testing.AllocsPerRun(1000, next); n != 0 {
				t.Errorf("%s, asking for %d bytes: %v allocations a frame, want none", name, ask, n)
			}
		}
	}
}
