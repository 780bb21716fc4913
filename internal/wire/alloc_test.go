//go:build !race

package wire

// The race detector makes sync.Pool forget, so allocations are counted without it.

import (
	"testing"
)

func TestDecodingATokenFrameAllocatesNothing(t *testing.T) {
	for name, test := range tokenFrames {
		decode := func() {
			if d, err := test.dialect.Decode(test.frame); err != nil || len(d.Text) == 0 {
				t.Fatal(d, err)
			}
		}
		if n := testing.AllocsPerRun(100, decode); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
