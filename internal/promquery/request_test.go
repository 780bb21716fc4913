package promquery

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// TestVersus holds what the words after --vs mean.
func TestVersus(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	day := Range{From: now.Add(-24 * time.Hour), To: now}
	for vs, want := range map[string]struct {
		other   Range
		another string
	}{
		"7d":                    {day.Back(7 * 24 * time.Hour), ""},
		"-168h":                 {day.Back(7 * 24 * time.Hour), ""},
		"2026-11-01/2026-11-02": {Range{From: now.Add(-(20*24 + 12) * time.Hour), To: now.Add(-(19*24 + 12) * time.Hour)}, ""},
		"vllm-b":                {Range{}, "vllm-b"},
		"host/v1":               {Range{}, "host/v1"},
	} {
		q := Request{Prometheus: "http://x", From: "24h", To: "now", Versus: vs, Targets: []string{"a"}}
		i, err := q.Parse(now)
		if err != nil || i.another != want.another || i.span != day || (i.other == nil) != (want.other == Range{}) {
			t.Errorf("%s: %+v, %v", vs, i, err)
		} else if i.other != nil && *i.other != want.other {
			t.Errorf("%s: %v, want %v", vs, i.other, want.other)
		}
	}
}

// TestSingle checks that a comparison has one target on each side.
func TestSingle(t *testing.T) {
	of := func(model string, ok int) record {
		return record{
			series:  series{target: "a", model: model, prompt: "cold"},
			summary: report.Summary{Outcomes: map[probe.Outcome]int{probe.OK: ok}},
		}
	}
	if err := single([]record{of("m", 5)}); err != nil {
		t.Error(err)
	}
	err := single([]record{of("m", 5), of("n", 7)})
	if err == nil || !strings.Contains(err.Error(), "target a has several series") ||
		!strings.Contains(err.Error(), "(model m, prompt cold: 5 requests; model n, prompt cold: 7 requests): choose with --model and --prompt") {
		t.Error(err)
	}
}
