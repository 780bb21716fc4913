package sim

import (
	"testing"
)

func TestTheLedgerIsBounded(t *testing.T) {
	var l sentLog
	for i := range 1500 {
		l.sending(l.open(Sent{ID: uint64(i)}), []int{1})
	}
	if all := l.all(); len(all) != 1000 || all[0].ID != 500 || all[999].ID != 1499 {
		t.Errorf("%d answers kept", len(all))
	}
	long := l.open(Sent{ID: 9999})
	for range keptFrames / 1000 {
		l.sending(long, make([]int, 1001))
	}
	if all := l.all(); len(all) != 1 || all[0].ID != 9999 {
		t.Errorf("%d answers kept beside one of a million frames", len(all))
	}
	l.open(Sent{ID: 1})
	l.sending(long, []int{1})
	if all := l.all(); len(all) != 1 || all[0].ID != 1 || l.frames != 0 {
		t.Errorf("%d answers, %d frames; a forgotten answer still counts", len(all), l.frames)
	}
}
