package promquery

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 5e8, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"now":                       "2026-11-21 11:00:00 UTC",
		"24h":                       "2026-11-20 11:00:00 UTC",
		"-24h":                      "2026-11-20 11:00:00 UTC",
		"7d":                        "2026-11-14 11:00:00 UTC",
		"1h30m":                     "2026-11-21 09:30:00 UTC",
		"2026-11-01":                "2026-11-01 00:00:00 UTC",
		"2026-11-01T10:00:00+02:00": "2026-11-01 08:00:00 UTC",
		"2026-11-01T10:00:00.9Z":    "2026-11-01 10:00:00 UTC",
		"1793491200":                "2026-11-01 00:00:00 UTC",
		"1793491200.5":              "2026-11-01 00:00:00 UTC",
	} {
		if got, err := ParseTime(text, now); err != nil || timestamp(got) != want || got.Nanosecond() != 0 {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "2026-13-01", "5", "1e300", "NaN", "-5", "--24h", "0s", "1ms", "24"} {
		if got, err := ParseTime(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestParseRange(t *testing.T) {
	now := midnight
	got, ok := ParseRange("2d/24h", now)
	if want := (Range{From: now.Add(-48 * time.Hour), To: now.Add(-24 * time.Hour)}); !ok || got != want {
		t.Errorf("%v, %v", got, ok)
	}
	for _, text := range []string{"vllm", "host/v1", "2026-11-01/soon", "24h", "/"} {
		if got, ok := ParseRange(text, now); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
