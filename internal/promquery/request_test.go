package promquery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/usage"
)

// TestVersus holds what the words after --vs mean.
func TestVersus(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) timeRange { return timeRange{now.Add(-d - 24*time.Hour), now.Add(-d)} }
	for vs, want := range map[string]selection{
		"7d":                    sideOf("a", ago(7*24*time.Hour)),
		"2026-11-01/2026-11-02": sideOf("a", ago((19*24+12)*time.Hour)),
		"2d/24h":                sideOf("a", ago(24*time.Hour)),
		"vllm-b":                sideOf("vllm-b", ago(0)),
		"host/v1":               sideOf("host/v1", ago(0)),
		"2026-11-01/soon":       sideOf("2026-11-01/soon", ago(0)),
	} {
		request := Request{
			Prometheus: "http://x", From: "24h", To: "now", Versus: vs, Targets: []string{"a"}, BudgetWindow: "30d",
		}
		q, problems := request.Parse(now)
		if problems != nil {
			t.Fatalf("%s: %v", vs, problems)
		}
		unexported := cmp.AllowUnexported(selection{}, timeRange{})
		if diff := cmp.Diff(want, *q.other, unexported); diff != "" {
			t.Errorf("%s (-want +got):\n%s", vs, diff)
		}
	}
}

// sideOf returns the selection of one target.
func sideOf(target string, span timeRange) selection {
	return selection{targets: []string{target}, span: span}
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

// TestBudgetWindow holds that a window is in whole hours, of which Prometheus answers no more than 11,000.
func TestBudgetWindow(t *testing.T) {
	for text, want := range map[string]string{
		"1h": "", "30d": "", "1y": "", "11000h": "",
		"30m": "not in whole hours", "90m": "not in whole hours", "month": "not in whole hours",
		"11001h": "too long",
	} {
		var problems usage.Problems
		Request{BudgetWindow: text}.parseWindow(&problems)
		var got string
		for _, p := range problems {
			got += p.Text
		}
		if got != want {
			t.Errorf("%s: problem %q, want %q", text, got, want)
		}
	}
}
