package config

import (
	"testing"
	"time"
)

// TestWindow holds when a window is next open, by day, over midnight and when clocks change, and its share of a week.
func TestWindow(t *testing.T) {
	for _, test := range []struct {
		window, now, opens string // opens is empty while it is open
		share              float64
	}{
		{"Mon-Fri 08:00-18:00", "2026-11-24T07:59:59Z", "2026-11-24T08:00:00Z", 50. / 168}, // a Tuesday
		{"Mon-Fri 08:00-18:00", "2026-11-24T08:00:00Z", "", 50. / 168},
		{"Mon-Fri 08:00-18:00", "2026-11-24T17:59:59Z", "", 50. / 168},
		{"Mon-Fri 08:00-18:00", "2026-11-27T18:00:00Z", "2026-11-30T08:00:00Z", 50. / 168},
		{"mon,wed 08:00-18:00 Europe/Berlin", "2026-11-24T12:00:00Z", "2026-11-25T07:00:00Z", 20. / 168},
		{"22:00-06:00", "2026-11-24T05:59:59Z", "", 56. / 168},
		{"22:00-06:00", "2026-11-24T06:00:00Z", "2026-11-24T22:00:00Z", 56. / 168},
		{"Sat-Sun 22:00-06:00", "2026-11-23T05:00:00Z", "", 16. / 168},                           // since Sunday
		{"Fri-Mon 00:00-00:00", "2026-11-24T00:00:00Z", "2026-11-27T00:00:00Z", 96. / 168},       // whole days
		{"08:00-18:00 Europe/Berlin", "2026-10-25T06:30:00Z", "2026-10-25T07:00:00Z", 70. / 168}, // summer time has ended
	} {
		var w Window
		if err := w.UnmarshalText([]byte(test.window)); err != nil {
			t.Fatal(err)
		}
		now, _ := time.Parse(time.RFC3339, test.now)
		got := ""
		if opens := w.Opens(now); !opens.IsZero() {
			got = opens.UTC().Format(time.RFC3339)
		}
		if got != test.opens || w.Share() != test.share || w.String() != test.window {
			t.Errorf("%s at %s opens %q for %g of a week, want %q and %g", w, test.now, got, w.Share(), test.opens, test.share)
		}
	}
}
