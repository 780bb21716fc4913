package telemetry

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// TestInvalidTTFTIsNotRecorded: if a prompt that should be new was in the cache, or
// the first tokens are hidden reasoning, there is no TTFT, and everything else of
// the probe counts.
func TestInvalidTTFTIsNotRecorded(t *testing.T) {
	tests := []struct {
		name   string
		change func(*probe.Result)
		want   map[string]uint64 // samples
	}{
		{"cold", func(r *probe.Result) { r.Cache = probe.CacheCold }, map[string]uint64{"ttft": 1, "server_ttft": 1, "ttfat": 1, "e2el": 1}},
		{"warm as meant", func(r *probe.Result) { r.Cache = probe.CacheWarm }, map[string]uint64{"ttft": 1, "server_ttft": 1, "ttfat": 1, "e2el": 1}},
		{"contaminated", func(r *probe.Result) { r.Cache = probe.CacheContaminated }, map[string]uint64{"ttft": 0, "server_ttft": 0, "ttfat": 0, "e2el": 1}},
		{"hidden reasoning", func(r *probe.Result) { r.Hidden = true }, map[string]uint64{"ttft": 0, "server_ttft": 0, "ttfat": 1, "e2el": 1}},
	}
	for _, test := range tests {
		r := succeeded5()
		test.change(r)
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
