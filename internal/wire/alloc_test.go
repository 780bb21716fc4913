//go:build !race

package wire

import "testing"

// TestDecodingATokenAllocatesNothing is built without the race detector, which makes sync.Pool forget.
func TestDecodingATokenAllocatesNothing(t *testing.T) {
	for _, d := range dialects {
		frame := tokenFrame(t, d)
		allocations := testing.AllocsPerRun(100, func() {
			delta, err := d.Decode(frame)
			if err != nil || len(delta.Text) == 0 {
				t.Fatal(delta, err)
			}
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations", d.Name, allocations)
		}
	}
}
