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
}
