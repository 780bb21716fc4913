package plot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	const morning = 1.8e9 // 2027-01-15 08:00:00 UTC
	const day = 86400
	for _, c := range []struct {
		about  string
		axis   Axis
		values []float64
		want   string // the title, and the ticks
	}{
		{"two stacks close together", Axis{Label: "TTFT", Unit: Second}, []float64{0.79, 0.828},
			"TTFT (ms): 750 800 850"},
		{"gaps between tokens", Axis{Label: "ITL", Unit: Second}, []float64{0.003, 0.02, 0.043},
			"ITL (ms): 0 10 20 30 40"},
		{"parts of a second", Axis{Label: "x", Unit: Second}, []float64{0.1, 1.2}, "x (s): 0 0.2 0.4 0.6 0.8 1 1.2"},
		{"microseconds", Axis{Label: "x", Unit: Second}, []float64{1e-6, 5e-6}, "x (µs): 0 1 2 3 4 5"},
		{"a long tail", Axis{Label: "ITL", Unit: Second}, []float64{0.001, 0.002, 0.003, 2},
			"ITL (s) (log): 0.001 0.01 0.1 1"},
		{"shares", Axis{Label: "share", Unit: Share}, []float64{0.9, 0.95}, "share (%): 0 20 40 60 80 100"},
		{"below zero", Axis{Label: "n"}, []float64{-2000, 2000}, "n: -2,000 -1,000 0 1,000 2,000"},
		{"one value", Axis{Label: "n"}, []float64{21000}, "n: 19,000 20,000 21,000 22,000 23,000"},
		{"zeros alone", Axis{Label: "n"}, []float64{0, 0}, "n: -0.4 -0.2 0 0.2 0.4"},
		{"a logarithmic axis", Axis{Label: "TTFT", Unit: Second, Log: true}, []float64{0.1, 5},
			"TTFT (s) (log): 0.1 0.2 0.5 1 2 5"},
		{"less than a decade", Axis{Label: "n", Log: true}, []float64{20, 38}, "n (log): 20 25 30 35"},
		{"one value has a factor of two", Axis{Label: "n", Log: true}, []float64{8}, "n (log): 6 7 8 9 10 11"},
		{"a ladder", Axis{Label: "n", Log: true, Values: true}, []float64{1, 64, 8, 9, 512}, "n (log): 1 8 64 512"},
		{"seconds", Axis{Label: "time", Unit: Time}, []float64{morning, morning + 20},
			"time (UTC) from 2027-01-15: 08:00:00 08:00:05 08:00:10 08:00:15 08:00:20"},
		{"hours", Axis{Label: "time", Unit: Time}, []float64{morning, morning + day},
			"time (UTC) from 2027-01-15: 12:00 18:00 00:00 06:00"},
		{"a week", Axis{Label: "time", Unit: Time}, []float64{morning, morning + 7*day},
			"time (UTC) from 2027-01-15: Jan 16 Jan 18 Jan 20 Jan 22"},
	} {
		s := newScale(c.axis, c.values)
		var texts []string
		for _, tick := range s.ticks() {
			texts = append(texts, tick.label)
		}
		if diff := cmp.Diff(c.want, s.title()+": "+strings.Join(texts, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.about, diff)
		}
	}
}
