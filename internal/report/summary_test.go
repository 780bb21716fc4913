package report

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

func TestSummarize(t *testing.T) {
	unknown := answer("a", 3, 0.5, 0.01)
	unknown.Output, unknown.TPOT, unknown.ITLs = wire.Count{}, noValue, nil
	samples := []Sample{
		failure("a", 4, probe.Timeout), answer("a", 1, 0.2, 0.01), unknown, answer("a", 0, 0.4, 0.02),
		failure("a", 5, probe.Canceled), failure("a", 2, probe.Timeout),
	}

	s := Summarize(samples)

	if diff := cmp.Diff(map[probe.Outcome]int{probe.OK: 3, probe.Timeout: 2}, s.Outcomes); diff != "" {
		t.Error(diff)
	}
	if s.Target != "a" || s.Input != 3*21073 || s.Output != 200 || !s.Start.Equal(noon()) || s.Duration != 41*time.Second {
		t.Errorf("%s: %d and %d tokens, %s from %s", s.Target, s.Input, s.Output, s.Duration, s.Start)
	}
	counts := []int{s.TTFT.Count, s.TPOT.Count, s.ITL.Count, s.E2EL.Count}
	if diff := cmp.Diff([]int{3, 2, 198, 3}, counts); diff != "" {
		t.Error(diff)
	}
	slices.Reverse(samples)
	again := Summarize(samples)
	if diff := cmp.Diff(s, again, near()); diff != "" {
		t.Errorf("the order of samples matters (-there +back):\n%s", diff)
	}
}

// TestDistributionsAgreeWithNumpy compares with what numpy.percentile returns for the same values.
func TestDistributionsAgreeWithNumpy(t *testing.T) {
	for _, test := range []struct {
		values []float64
		mean   float64
		want   []float64 // P50, P75, P90, P95, P99
	}{
		{[]float64{7}, 7, []float64{7, 7, 7, 7, 7}},
		{[]float64{4, 1, 3, 2}, 2.5, []float64{2.5, 3.25, 3.7, 3.85, 3.97}},
		{[]float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 1000}, 145, []float64{55, 77.5, 181, 590.5, 918.1}},
	} {
		d := DistributionOf(test.values)
		if d.Count != len(test.values) || math.Abs(float64(d.Mean)-test.mean) > 1e-9 {
			t.Errorf("%v: count %d, mean %g, want %g", test.values, d.Count, d.Mean, test.mean)
		}
		for i, q := range d.Quantiles {
			want := Number(test.want[i])
			exact := Quantile{Share: Shares()[i], Value: want, Low: want, High: want}
			if diff := cmp.Diff(exact, q, near()); diff != "" {
				t.Errorf("%v (-want +got):\n%s", test.values, diff)
			}
		}
	}
}

// TestThroughputOfARate holds that requests which begin by the clock and are
// answered in time have the throughput of that clock, however few they are, also
// where two targets take turns; and that a server which cannot keep up has less.
func TestThroughputOfARate(t *testing.T) {
	at := func(seconds, elapsed float64) Sample {
		duration := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
		return Sample{Outcome: probe.OK, Start: noon().Add(duration(seconds)), Elapsed: duration(elapsed)}
	}
	for name, c := range map[string]struct {
		run     []Sample
		skipped int
		want    Number
	}{
		"some":    {[]Sample{at(4, 1), at(0, 1), at(2, 1)}, 0, 0.5},
		"slow":    {[]Sample{at(0, 1), at(2, 6)}, 0, 0.25},
		"skipped": {[]Sample{at(0, 3)}, 1, 0.25},
		"cut off": {[]Sample{at(0, 1), {Outcome: probe.Canceled, Start: noon().Add(time.Hour)}}, 0, 0.5},
		"turns":   {[]Sample{at(0, 0.5), at(2.5, 0.5), at(4, 0.5), at(6.5, 0.5)}, 0, 0.5},
	} {
		s := Summarize(c.run)
		s.Skipped[probe.SkipOverlap] = c.skipped
		if is := s.Paced(2 * time.Second).Throughput().Requests; is != c.want {
			t.Errorf("%s: %v requests/s, want %v", name, is, c.want)
		}
	}
}

// TestAttained holds what is said of requests that were good, bad, or had no sample. All of them took one second
// together, and three slots were skipped. Each case is what the gate, the block and the goodput say.
func TestAttained(t *testing.T) {
	good, bad, unknown := Judgement{Good: 1, Value: noValue}, Judgement{Bad: 1, Value: noValue}, Judgement{Value: noValue}
	goods := func(n int) []Judgement { return slices.Repeat([]Judgement{good}, n) }
	for want, judged := range map[string][]Judgement{
		"met by a: 100% (1,500 of 1,500), 3 skipped|Met|1500.00":             goods(1500),
		"missed by a: 99.996% (29,999 of 30,000), 3 skipped|Missed|29999.00": append(goods(29_999), bad),
		"missed by a: 50% (1 of 2), 3 skipped|Missed|2.00":                   {good, unknown, bad},
		"missed by a: no request has a sample, 3 skipped|Missed|nan":         {unknown},
	} {
		var samples []Sample
		for _, j := range judged {
			samples = append(samples, Sample{
				Target: "a", Outcome: probe.OK, Start: noon(), Elapsed: time.Second, Judged: []Judgement{j},
			})
		}
		s := Summarize(samples, probe.Objective{Signal: probe.SignalTTFT, Limit: time.Second, Goal: 0.999999})
		s.Skipped[probe.SkipOverlap] = 3
		_, got, _ := strings.Cut(s.Attained(s.Objectives[0]), ": ")
		row := regexp.MustCompile(`(\w+) ttft<1s`).FindStringSubmatch(Block(s))[1]
		if got += "|" + row + "|" + twoDecimals(s.Throughput().Good); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRefusedRequestsAreNotJudged holds that a key that is refused is no bad answer, and that a run of nothing else is
// not praised for it.
func TestRefusedRequestsAreNotJudged(t *testing.T) {
	up := probe.Objective{Signal: probe.SignalAvailability, Goal: 0.99}
	for want, outcomes := range map[string][]probe.Outcome{
		"missed by a: no request has a sample, 2 failed (2 refused and not counted)|nan": {probe.Unauthorized,
			probe.RateLimited},
		"met by a: 100% (1 of 1), 1 failed (1 refused and not counted)|1.00": {probe.OK, probe.Filtered},
		"missed by a: 50% (1 of 2), 2 failed (1 refused and not counted)|1.00": {probe.OK,
			probe.Rejected, probe.RateLimited},
	} {
		var samples []Sample
		for _, o := range outcomes {
			r := &probe.Result{Target: "a", Outcome: o, Elapsed: time.Second}
			r.Start = noon()
			samples = append(samples, SampleOf(r, up))
		}
		s := Summarize(samples, up)
		_, got, _ := strings.Cut(s.Attained(s.Objectives[0]), ": ")
		if got += "|" + twoDecimals(s.Throughput().Good); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestFailuresAreGrouped holds that a summary tells each way in which requests failed once,
// how often, and what to do; and nothing of those that succeeded or were cut off.
func TestFailuresAreGrouped(t *testing.T) {
	var samples []Sample
	for _, r := range []*probe.Result{
		{Outcome: probe.OK},
		{Outcome: probe.ServerError, Status: 502, Err: errors.New("HTTP 502: a")},
		{Outcome: probe.ServerError, Status: 500, Err: errors.New("HTTP 500: b")},
		{Outcome: probe.ServerError, Status: 500, Err: errors.New("HTTP 500: c")},
		{Outcome: probe.Canceled, Err: errors.New("interrupted")},
	} {
		samples = append(samples, SampleOf(r))
	}
	want := []Failures{
		{
			Outcome: probe.ServerError, Requests: 2, Error: "HTTP 500: b",
			Hint: "check the server's log at that time",
		},
		{
			Outcome: probe.ServerError, Requests: 1, Error: "HTTP 502: a",
			Hint: "a proxy got no answer from the server behind it: check that server",
		},
	}
	if diff := cmp.Diff(want, Summarize(samples).Failures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBlockedSlotsAreJudged holds that an attainment counts what the metrics count: also the slots that a failed
// request has blocked.
func TestBlockedSlotsAreJudged(t *testing.T) {
	up := probe.Objective{Name: "up", Signal: probe.SignalAvailability, Goal: 0.5}
	hung := &probe.Result{Target: "a", Outcome: probe.Timeout, Blocked: 4}
	refused := &probe.Result{Target: "a", Outcome: probe.RateLimited, Blocked: 4}
	good := &probe.Result{Target: "a", Outcome: probe.OK}
	var samples []Sample
	for _, r := range []*probe.Result{good, hung, refused} {
		samples = append(samples, SampleOf(r, up))
	}
	a := Summarize(samples, up).Objectives[0]
	if a.Objective != "up@50%" || a.Good != 1 || a.Judged != 6 || !a.Missed() {
		t.Errorf("%+v", a)
	}
}
