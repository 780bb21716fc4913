package promquery

import (
	"slices"
	"testing"
	"time"
)

// TestVersus holds what the words after --vs mean.
func TestVersus(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) timeRange { return timeRange{now.Add(-d - 24*time.Hour), now.Add(-d)} }
	for vs, want := range map[string]reader{
		"7d":                    {targets: []string{"a"}, span: ago(7 * 24 * time.Hour)},
		"2026-11-01/2026-11-02": {targets: []string{"a"}, span: ago((19*24 + 12) * time.Hour)},
		"2d/24h":                {targets: []string{"a"}, span: ago(24 * time.Hour)},
		"vllm-b":                {targets: []string{"vllm-b"}, span: ago(0)},
		"host/v1":               {targets: []string{"host/v1"}, span: ago(0)},
		"2026-11-01/soon":       {targets: []string{"2026-11-01/soon"}, span: ago(0)},
	} {
		request := Request{
			Prometheus: "http://x", From: "24h", To: "now", Versus: vs, Targets: []string{"a"}, BudgetWindow: "30d",
		}
		q, err := request.Parse(now)
		if err != nil {
			t.Fatalf("%s: %v", vs, err)
		}
		if q.reader.span != ago(0) || q.other.span != want.span || !slices.Equal(q.other.targets, want.targets) {
			t.Errorf("%s: %+v", vs, q)
		}
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"now":                       "2026-11-01 00:00:00 UTC",
		"24h":                       "2026-10-31 00:00:00 UTC",
		"7d":                        "2026-10-25 00:00:00 UTC",
		"1h30m":                     "2026-10-31 22:30:00 UTC",
		"2026-10-01":                "2026-10-01 00:00:00 UTC",
		"2026-11-01T10:00:00+02:00": "2026-11-01 08:00:00 UTC",
		"":                          "", "yesterday": "", "2026-13-01": "", "5": "", "-24h": "", "24": "",
	} {
		if got, ok := parseTime(text, midnight); ok != (want != "") || ok && timestamp(got) != want {
			t.Errorf("%q is %v; want %s", text, got, want)
		}
	}
}
