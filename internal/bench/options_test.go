package bench

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/schedule"
)

func TestLoads(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    []Load
		words   []string
	}{
		"nothing said":       {Options{}, []Load{{Requests: 10}}, []string{"10 at once"}},
		"so many":            {Options{Requests: 7}, []Load{{Requests: 7}}, []string{"7 at once"}},
		"closed loop":        {Options{Concurrency: 4}, []Load{{Requests: 40, Concurrency: 4}}, []string{"concurrency 4"}},
		"for a time":         {Options{Concurrency: 4, Duration: time.Minute}, []Load{{Limit: time.Minute, Concurrency: 4}}, []string{"concurrency 4"}},
		"ladder":             {Options{Ladder: []int{1, 8}}, []Load{{Requests: 1}, {Requests: 8}}, []string{"1 at once", "8 at once"}},
		"ladder of requests": {Options{Ladder: []int{1, 8}, Requests: 50}, []Load{{Requests: 50, Concurrency: 1}, {Requests: 50, Concurrency: 8}}, []string{"concurrency 1", "concurrency 8"}},
		"ladder of times":    {Options{Ladder: []int{3}, Duration: time.Hour}, []Load{{Limit: time.Hour, Concurrency: 3}}, []string{"concurrency 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			loads := test.options.Loads(schedule.Plan{})
			equal(t, "loads", loads, test.want)
			for i, l := range loads {
				equal(t, "words", l.String(), test.words[i])
			}
		})
	}
}

func TestTotal(t *testing.T) {
	plan := schedule.Plan{Interval: 10 * time.Second, Name: "phase"}
	for name, test := range map[string]struct {
		load     Load
		total    int
		known    bool
		words    string
		inFlight int
	}{
		"requests by the clock": {Load{Plan: plan, Requests: 5}, 5, true, "0.1 QPS", 0},
		"time by the clock":     {Load{Plan: plan, Limit: 25 * time.Second}, 3, true, "0.1 QPS", 0},
		"a whole interval":      {Load{Plan: plan, Limit: 30 * time.Second}, 3, true, "0.1 QPS", 0},
		"whatever is less":      {Load{Plan: plan, Limit: time.Hour, Requests: 4}, 4, true, "0.1 QPS", 0},
		"at once":               {Load{Requests: 9}, 9, true, "9 at once", 9},
		"closed loop":           {Load{Concurrency: 2, Limit: time.Hour}, 0, false, "concurrency 2", 2},
	} {
		t.Run(name, func(t *testing.T) {
			total, known := test.load.Total()
			if total != test.total || known != test.known {
				t.Errorf("total %d, %t", total, known)
			}
			equal(t, "words", test.load.String(), test.words)
			equal(t, "in flight", test.load.InFlight(), test.inFlight)
		})
	}
}
