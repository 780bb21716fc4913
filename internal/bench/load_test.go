package bench

import (
	"math"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/schedule"
)

func TestLoad(t *testing.T) {
	plan := schedule.Plan{Interval: 10 * time.Second, Name: "phase"}
	for name, test := range map[string]struct {
		load     Load
		total    int
		known    bool
		text     string
		inFlight int
	}{
		"requests by the clock":            {Load{Plan: plan, Requests: 5}, 5, true, "0.1 QPS", 0},
		"a time by the clock":              {Load{Plan: plan, Limit: 25 * time.Second}, 3, true, "0.1 QPS", 0},
		"a time that ends with a start":    {Load{Plan: plan, Limit: 30 * time.Second}, 3, true, "0.1 QPS", 0},
		"a time that ends after a start":   {Load{Plan: plan, Limit: 30*time.Second + 1}, 4, true, "0.1 QPS", 0},
		"requests that end before a time":  {Load{Plan: plan, Limit: time.Hour, Requests: 4}, 4, true, "0.1 QPS", 0},
		"all at once":                      {Load{Requests: 9}, 9, true, "9 at once", 9},
		"a closed loop for a time":         {Load{Concurrency: 2, Limit: time.Hour}, 0, false, "concurrency 2", 2},
		"a closed loop of so many of them": {Load{Concurrency: 2, Requests: 9}, 9, true, "concurrency 2", 2},
	} {
		total, known := test.load.Total()
		equal(t, name+": total", total, test.total)
		equal(t, name+": whether it is known", known, test.known)
		equal(t, name+": text", test.load.String(), test.text)
		equal(t, name+": in flight", test.load.InFlight(), test.inFlight)
	}
}

// TestLoads holds which steps the options of a command line lead to.
func TestLoads(t *testing.T) {
	everyMS := func(n int) schedule.Plan { return schedule.Plan{Interval: time.Duration(n) * time.Millisecond} }
	ladder := []int{1, 8}
	for name, test := range map[string]struct {
		options Options
		want    []Load
	}{
		"no options": {Options{}, []Load{{Requests: 10}}},
		"requests":   {Options{Requests: 7}, []Load{{Requests: 7}}},
		"concurrency without requests": {
			Options{Concurrency: 4}, []Load{{Requests: 40, Concurrency: 4}},
		},
		"concurrency for a time": {
			Options{Concurrency: 4, Duration: time.Minute}, []Load{{Limit: time.Minute, Concurrency: 4}},
		},
		"a ladder": {
			Options{Ladder: ladder}, []Load{{Requests: 10, Concurrency: 1}, {Requests: 80, Concurrency: 8}},
		},
		"a ladder with all requests of a step at once": {
			Options{Ladder: ladder, Unpaced: true}, []Load{{Requests: 1}, {Requests: 8}},
		},
		"a ladder with requests": {
			Options{Ladder: ladder, Requests: 50},
			[]Load{{Requests: 50, Concurrency: 1}, {Requests: 50, Concurrency: 8}},
		},
		"a ladder with a time for each step": {
			Options{Ladder: []int{3}, Duration: time.Hour}, []Load{{Limit: time.Hour, Concurrency: 3}},
		},
		"rates": {
			Options{Rates: []float64{0.5, 4}},
			[]Load{{Plan: everyMS(2000), Requests: 10}, {Plan: everyMS(250), Requests: 10}},
		},
	} {
		equal(t, name, test.options.Loads(schedule.Plan{}), test.want)
	}
}

// TestTargetsTakeTheLoadThatWasAskedFor holds how many requests a target may have in flight, and that it is never left
// in peace.
func TestTargetsTakeTheLoadThatWasAskedFor(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    int
	}{
		"three at once":          {Options{Concurrency: 3}, 3},
		"no number":              {Options{}, math.MaxInt},
		"steps of other numbers": {Options{Concurrency: 3, Ladder: []int{1, 64}}, math.MaxInt},
	} {
		target := config.Target{}
		target.BackoffLimit = time.Minute
		c := &config.Config{Targets: []config.Target{target}}
		test.options.unlimit(c)
		equal(t, name+": in flight", c.Targets[0].MaxInFlight, test.want)
		equal(t, name+": pause", c.Targets[0].BackoffLimit, time.Duration(0))
	}
}
