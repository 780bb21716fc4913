package report

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// TestThroughputOfARate holds that requests which start every two seconds and are answered in time have the throughput
// of that rate, however few they are, also where two targets take turns; and that a server which cannot keep up has
// less.
func TestThroughputOfARate(t *testing.T) {
	at := func(seconds, elapsed float64) Sample {
		duration := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
		return Sample{Outcome: probe.OK, Start: noon().Add(duration(seconds)), Elapsed: duration(elapsed)}
	}
	for name, c := range map[string]struct {
		run     []Sample
		skipped int
		want    stats.Number
	}{
		"some":    {[]Sample{at(4, 1), at(0, 1), at(2, 1)}, 0, 0.5},
		"slow":    {[]Sample{at(0, 1), at(2, 6)}, 0, 0.25},
		"skipped": {[]Sample{at(0, 3)}, 1, 0.25},
		"cut off": {[]Sample{at(0, 1), {Outcome: probe.Canceled, Start: noon().Add(time.Hour)}}, 0, 0.5},
		"turns":   {[]Sample{at(0, 0.5), at(2.5, 0.5), at(4, 0.5), at(6.5, 0.5)}, 0, 0.5},
	} {
		s := Summarize(c.run)
		s.Skipped[probe.SkipOverlap] = c.skipped
		if is := s.Paced(2 * time.Second).Throughput().RequestRate; is != c.want {
			t.Errorf("%s: %v requests/s, want %v", name, is, c.want)
		}
	}
}

// TestAttained holds what is said of requests that were good, bad, or had no sample. All of them took one second
// together, and three slots were skipped. A failed request counts for the slots that it blocked. A refused one is no
// bad answer, unless the objective says so, but a run of nothing else is not praised for it.
func TestAttained(t *testing.T) {
	good, unknown, slow := answered(1, 1), answered(1, 1), answered(1, 1)
	unknown.ReasoningHidden = true
	slow.Timeline.Frames[0].At, slow.Timeline.FinishedAt = 2*time.Second, 2*time.Second
	hung := &probe.Result{Outcome: probe.Timeout, Blocked: map[string]int{"": 4}}
	refused := &probe.Result{Outcome: probe.Unauthorized, Blocked: map[string]int{"": 4}}
	objective := probe.Objective{Signal: probe.SignalTTFT, Limit: time.Second, Goal: 0.999999}
	for _, test := range []struct {
		about   string
		results []*probe.Result
		strict  bool   // refusals are bad
		goodput string // requests per second
		want    string
	}{
		{"all are good", slices.Repeat([]*probe.Result{good}, 1500), false, "1500.00",
			"met by vllm-a: 100% (1,500 of 1,500), worst 900 ms, 3 skipped"},
		{"one of 30,000 is bad", append(slices.Repeat([]*probe.Result{good}, 29_999), slow), false, "29999.00",
			"missed by vllm-a: 99.996% (29,999 of 30,000), worst 2.00 s, 3 skipped"},
		{"one has no sample", []*probe.Result{good, unknown, slow}, false, "2.00",
			"missed by vllm-a: 50% (1 of 2), worst 2.00 s, 3 skipped"},
		{"none has a sample", []*probe.Result{unknown}, false, "nan", "missed by vllm-a: no request has a sample, 3 skipped"},
		{"one failed and blocked four slots", []*probe.Result{good, hung}, false, "1.00",
			"missed by vllm-a: 16.6% (1 of 6), worst 900 ms, 1 failed, 3 skipped"},
		{"one was refused", []*probe.Result{good, refused}, false, "1.00",
			"met by vllm-a: 100% (1 of 1), worst 900 ms, 1 failed (1 refused and not counted), 3 skipped"},
		{"all were refused", []*probe.Result{refused, refused}, false, "nan",
			"missed by vllm-a: no request has a sample, 2 failed (2 refused and not counted), 3 skipped"},
		{"refusals are bad", []*probe.Result{good, refused}, true, "1.00",
			"missed by vllm-a: 16.6% (1 of 6), worst 900 ms, 1 failed (1 refused), 3 skipped"},
	} {
		var samples []Sample
		objective.RefusalsAreBad = test.strict
		for _, r := range test.results {
			r.Target, r.Start, r.Elapsed = "vllm-a", noon(), time.Second
			samples = append(samples, SampleOf(r, nil, objective))
		}
		s := Summarize(samples, objective)
		s.Skipped[probe.SkipOverlap] = 3
		got := s.Attained(s.Objectives[0])
		if diff := cmp.Diff("objective ttft<1s@99.9999%: "+test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.about, diff)
		}
		if diff := cmp.Diff(test.goodput, twoDecimals(s.Throughput().Goodput)); diff != "" {
			t.Errorf("%s: goodput (-want +got):\n%s", test.about, diff)
		}
	}
}
