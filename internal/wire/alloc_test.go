//go:build !race

package wire

import "testing"

// TestDecodingATokenAllocatesLittle holds that a frame is copied once, and its text at most twice: nothing is decoded
// that is not looked for. It is built without the race detector, which makes sync.Pool forget.
func TestDecodingATokenAllocatesLittle(t *testing.T) {
	for _, d := range dialectsWithFrames(t) {
		frame := tokenFrame(t, d)
		allocations := testing.AllocsPerRun(100, func() {
			delta, err := d.Decode(frame)
			if err != nil || len(delta.Text) == 0 {
				t.Fatal(delta, err)
			}
		})
		if allocations > 3 {
			t.Errorf("%s: %v allocations", d.Name, allocations)
		}
	}
}
