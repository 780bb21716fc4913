package length

import "testing"

// TestStates holds every transition: what a state is after each event.
func TestStates(t *testing.T) {
	events := []event{
		countBegins, countBreaksOff, tokenizerCounted, usageCounted, nothingCounted, answerAgrees, answerDiffers,
	}
	for before, after := range map[State][]State{
		Unknown:   {Counting, Unknown, Counted, Confirmed, Estimated, Unknown, Unknown},
		Counting:  {Counting, Unknown, Counted, Confirmed, Estimated, Counting, Counting},
		Estimated: {Estimated, Estimated, Counted, Confirmed, Estimated, Estimated, Unknown},
		Counted:   {Counted, Counted, Counted, Counted, Counted, Confirmed, Unknown},
		Confirmed: {Confirmed, Confirmed, Confirmed, Confirmed, Confirmed, Confirmed, Doubted},
		Doubted:   {Doubted, Doubted, Doubted, Doubted, Doubted, Confirmed, Unknown},
	} {
		for i, e := range events {
			if got := before.after(e); got != after[i] {
				t.Errorf("%s, %s: %s, want %s", before, e, got, after[i])
			}
		}
	}
}
