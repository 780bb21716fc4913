//go:build !race

package probe

// The race detector makes sync.Pool forget, so allocations are counted without it.

import (
	"testing"
)

// TestReadingATokenFrameAllocatesNothing is the same as an assertion.
func TestReadingATokenFrameAllocatesNothing(t *testing.T) {
	next := readTokenFrame(t, 1)
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("%v allocations a token frame", n)
	}
}
