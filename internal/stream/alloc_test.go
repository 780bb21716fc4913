//go:build !race

package stream

// The race detector makes sync.Pool forget, so allocations are counted without it.

import (
	"testing"
)

func TestLinesAllocateNothingPerFrame(t *testing.T) {
	const line = `{"model":"m","created_at":"2026-01-01T00:00:00Z","response":" token","done":false}` + "\n"
	for _, ask := range []int{1, 4096} {
		l := NewLines(&cycle{text: line}, noStamp, ask)
		next := func() {
			if _, err := l.Next(); err != nil {
				t.Fatal(err)
			}
		}
		next()
		if n := testing.AllocsPerRun(1000, next); n != 0 {
			t.Errorf("asking for %d bytes: %v allocations a line, want none", ask, n)
		}
	}
}

func TestSSEAllocatesNothingPerFrame(t *testing.T) {
	for _, ask := range []int{1, 4096} {
		s := NewSSE(endless(chunkFrame), noStamp, ask)
		if ask == 1 {
			s = NewSSE(&cycle{text: chunkFrame}, noStamp, ask)
		}
		next := func() {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			next()
		}
		if n := testing.AllocsPerRun(1000, next); n != 0 {
			t.Errorf("asking for %d bytes: %v allocations a frame, want none", ask, n)
		}
	}
}
