package sim

import "testing"

func TestTheLogIsBounded(t *testing.T) {
	var l sentLog
	for i := range 1500 {
		l.sending(l.open(Sent{ID: uint64(i)}), []int{1})
	}
	if all := l.all(); len(all) != 1000 || all[0].ID != 500 || all[999].ID != 1499 {
		t.Errorf("%d answers kept", len(all))
	}
	long := l.open(Sent{ID: 9999})
	l.sending(long, make([]int, keptFrames))
	l.open(Sent{ID: 10000})
	l.open(Sent{ID: 10001})
	if all := l.all(); len(all) != 3 || all[0].ID != 9999 {
		t.Errorf("%d answers kept beside one of a million frames", len(all))
	}
	l.sending(long, []int{1})
	l.open(Sent{ID: 10002})
	if all := l.all(); len(all) != 3 || all[0].ID != 10000 {
		t.Errorf("%d answers kept, want none of more than a million frames", len(all))
	}
}
