package promquery

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// periodMeans returns the means of a target in periods of 18 minutes, from a first one to the 20th.
func periodMeans(first int, target string, scale float64) model.Matrix {
	stream := &model.SampleStream{Metric: sample(0, "target="+target).Metric}
	for i := first; i <= 20; i++ {
		end := midnight.Add(time.Duration(i) * 18 * time.Minute)
		stream.Values = append(stream.Values, model.SamplePair{
			Timestamp: model.TimeFromUnix(end.Unix()), Value: model.SampleValue(scale * float64(100+i)),
		})
	}
	return model.Matrix{stream}
}

// TestCompare compares two targets, of which b is 5% slower. It has no sample in the first of 20 periods, and no mean
// in the second. Then it compares a target with itself a day earlier, of which there is too little data: too few
// requests, or too short a time. Each document has the warnings of Prometheus, once.
func TestCompare(t *testing.T) {
	means := periodMeans(2, "b", 1.05e-3)
	means[0].Values[0].Value = model.SampleValue(math.Inf(1))
	const latency = "sum by (target, model, prompt, vantage) (increase(llm_probe_ttft_seconds{target="
	s := &stored{
		vectors: map[string]model.Vector{
			counted + `target="a"`: {sample(400, "outcome=ok")},
			counted + `target="b"`: {sample(400, "outcome=ok", "target=b")},
			counted + `target="c"`: {sample(79, "outcome=ok", "target=c")},
			latency + `"a"`:        {sample(400, "le=+Inf")},
			latency + `"b"`:        {sample(400, "le=+Inf", "target=b")},
		},
		matrices: map[string]model.Matrix{
			"histogram_avg(" + latency + `"a"`: periodMeans(1, "a", 1e-3),
			"histogram_avg(" + latency + `"b"`: means,
		},
		warnings: promv1.Warnings{"store 1 is down"},
	}
	var texts []string
	for _, r := range []Request{
		{Targets: []string{"a"}, Versus: "b"},
		{Targets: []string{"c"}, Versus: "1d"},
		{Targets: []string{"a"}, Versus: "1d", To: "2026-11-01T00:39:00Z"},
	} {
		document, err := s.query(t, r).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := document.Comparisons[0]
		apart := ""
		if r.Versus == "1d" {
			apart = report.Ranges
		}
		if c.Apart != apart {
			t.Errorf("%s against %s: apart %q, want %q", c.B, c.A, c.Apart, apart)
		}
		text := c.Text(120)
		for _, s := range document.Summaries {
			text += fmt.Sprintf("summary of %s, %q\n", s.Target, s.Load)
		}
		text += fmt.Sprintf("warnings: %s\n", document.Warnings)
		texts = append(texts, text)
	}
	golden.Equal(t, "testdata/comparisons.txt", strings.Join(texts, "\n"))
}

// TestCompareByVantage holds that what was measured from one place is compared with what was measured from the same
// place, and which sides cannot be compared. A side of one record is compared wherever it is of, with a warning.
func TestCompareByVantage(t *testing.T) {
	from := func(target string, vantages ...string) (all model.Vector) {
		for _, vantage := range vantages {
			all = append(all, sample(400, "outcome=ok", "target="+target, "vantage="+vantage))
		}
		return all
	}
	for _, test := range []struct {
		about    string
		ofA, ofB model.Vector
		want     string
	}{
		{
			"two places on both sides, and one on either", from("a", "eu", "us", "ap"), from("b", "us", "eu", "af"),
			`a (vantage ap): the other side has nothing from vantage ap to compare it with
b (vantage af): the other side has nothing from vantage af to compare it with
b (vantage eu) against a (vantage eu): []
b (vantage us) against a (vantage us): []`,
		},
		{
			"one place each", from("a", "eu"), from("b", ""),
			"b against a: [A was measured from vantage eu, B from no vantage: their difference may be that of the places]",
		},
		{"the same place", from("a", "eu"), from("b", "eu"), "b against a: []"},
		{
			"no place in common", from("a", "eu", "us"), from("b", ""),
			"nothing to compare: no place measured both sides, the one has data from vantage eu and vantage us, " +
				"the other from no vantage",
		},
	} {
		s := &stored{vectors: map[string]model.Vector{counted + `target="a"`: test.ofA, counted + `target="b"`: test.ofB}}
		var got []string
		document, err := s.query(t, Request{Targets: []string{"a"}, Versus: "b"}).Run(t.Context())
		if err != nil {
			got = append(got, err.Error())
		}
		for _, c := range document.Comparisons {
			isOther := func(warning string) bool { return !strings.Contains(warning, "places") }
			got = append(got, fmt.Sprintf("%s against %s: %s", c.B, c.A, slices.DeleteFunc(c.Warnings, isOther)))
		}
		for _, s := range document.Summaries {
			for _, warning := range s.Warnings {
				if strings.Contains(warning, "the other side") {
					got = append(got, s.Target+": "+warning)
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.about, diff)
		}
	}
}

// TestSidesAreOneSeriesEach holds that a target with two models is not compared: which one is meant must be said.
func TestSidesAreOneSeriesEach(t *testing.T) {
	s := &stored{vectors: map[string]model.Vector{
		counted: {sample(400, "outcome=ok"), sample(400, "outcome=ok", "model=n")},
	}}
	_, err := s.query(t, Request{Targets: []string{"a"}, Versus: "7d"}).Run(t.Context())
	const want = "a (model m, prompt cold) and a (model n, prompt cold) have data " +
		"from 2026-11-01 00:00:00 UTC to 2026-11-01 06:00:00 UTC: choose one with --match model=… or --match prompt=…"
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
