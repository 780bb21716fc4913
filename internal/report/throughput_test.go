package report

import (
	"slices"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// TestThroughputOfARate holds that requests which begin by the clock and are
// answered in time have the throughput of that clock, however few they are, also
// where two targets take turns; and that a server which cannot keep up has less.
func TestThroughputOfARate(t *testing.T) {
	at := func(target string, round uint64, seconds, elapsed float64) Sample {
		second := float64(time.Second)
		return Sample{
			Request: Request{Round: round}, Target: target, Outcome: probe.OK,
			Start: noon().Add(time.Duration(seconds * second)), Elapsed: time.Duration(elapsed * second),
		}
	}
	turns := []Sample{
		at("a", 7, 0, 0.5), at("b", 7, 0.5, 0.5), at("b", 8, 2, 0.5), at("a", 8, 2.5, 0.5),
		at("a", 9, 4, 0.5), at("b", 9, 4.5, 0.5), at("b", 10, 6, 0.5), at("a", 10, 6.5, 0.5),
	}
	for name, c := range map[string]struct {
		run  []Sample
		want float64
	}{
		"one":     {[]Sample{at("a", 1, 0, 1)}, 0.5},
		"some":    {[]Sample{at("a", 3, 4, 1), at("a", 1, 0, 1), at("a", 2, 2, 1)}, 0.5},
		"slow":    {[]Sample{at("a", 1, 0, 1), at("a", 2, 2, 6)}, 0.25},
		"skipped": {[]Sample{at("a", 1, 0, 1), at("a", 4, 6, 1)}, 0.25},
		"cut off": {[]Sample{at("a", 1, 0, 1), {Request: Request{Round: 9}, Target: "a", Outcome: probe.Canceled, Start: noon().Add(time.Hour)}}, 0.5},
		"turns":   {turns, 0.5},
		"others":  {append(slices.Clone(turns), at("b", 11, 8, 0.5)), 0.4},
	} {
		own, _ := split(c.run, func(s Sample) bool { return s.Target == "a" })
		if is := Summarize(own).Paced(c.run, 2*time.Second).Throughput().Requests; is != Number(c.want) {
			t.Errorf("%s: %v requests/s, want %v", name, is, c.want)
		}
	}
}
