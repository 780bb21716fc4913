package telemetry

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// TestSpoiltFirstTokens holds that the first token of a prompt which a cache
// should not have known, or of a reasoning that nobody saw, is no sample of TTFT,
// while all else of the probe counts.
func TestSpoiltFirstTokens(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*probe.Result)
		want  map[string]uint64 // samples
	}{
		{"cold", func(r *probe.Result) { r.Cache = probe.CacheCold }, map[string]uint64{"ttft": 1, "server_ttft": 1, "ttfat": 1, "e2el": 1}},
		{"warm as meant", func(r *probe.Result) { r.Cache = probe.CacheWarm }, map[string]uint64{"ttft": 1, "server_ttft": 1, "ttfat": 1, "e2el": 1}},
		{"contaminated", func(r *probe.Result) { r.Cache = probe.CacheContaminated }, map[string]uint64{"ttft": 0, "server_ttft": 0, "ttfat": 0, "e2el": 1}},
		{"hidden reasoning", func(r *probe.Result) { r.Hidden = true }, map[string]uint64{"ttft": 0, "server_ttft": 0, "ttfat": 1, "e2el": 1}},
	}
	for _, test := range tests {
		r := succeeded5()
		test.spoil(r)
		got := map[string]uint64{}
		for _, i := range Catalog() {
			name := i.Name[len("llm.prob"):]
			for key := range test.want {
				if i.Kind == Histogram && name == "e."+key {
					i.ofResult(fixedTarget(), r, func(sample) { got[key]++ })
					got[key] += 0
				}
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: samples (-want +got):\n%s", test.name, diff)
		}
		limit := probe.Objective{Signal: probe.SignalTTFT, Limit: 1, Goal: 0.9}
		if good, ok := limit.Judge(r); good || ok != (test.want["ttft"] == 1) {
			t.Errorf("%s: judged %t, good %t", test.name, ok, good)
		}
	}
}
