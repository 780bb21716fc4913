package bench

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/schedule"
)

func every(ms int) schedule.Plan {
	return schedule.Plan{Interval: time.Duration(ms) * time.Millisecond}
}

func TestLoads(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    []Load
	}{
		"nothing said":       {Options{}, []Load{{Requests: 10}}},
		"so many":            {Options{Requests: 7}, []Load{{Requests: 7}}},
		"closed loop":        {Options{Concurrency: 4}, []Load{{Requests: 40, Concurrency: 4}}},
		"for a time":         {Options{Concurrency: 4, Duration: time.Minute}, []Load{{Limit: time.Minute, Concurrency: 4}}},
		"ladder":             {Options{Ladder: []int{1, 8}}, []Load{{Requests: 10, Concurrency: 1}, {Requests: 80, Concurrency: 8}}},
		"ladder at once":     {Options{Ladder: []int{1, 8}, Unpaced: true}, []Load{{Requests: 1}, {Requests: 8}}},
		"rates":              {Options{Rates: []float64{0.5, 4}}, []Load{{Plan: every(2000), Requests: 10}, {Plan: every(250), Requests: 10}}},
		"ladder of requests": {Options{Ladder: []int{1, 8}, Requests: 50}, []Load{{Requests: 50, Concurrency: 1}, {Requests: 50, Concurrency: 8}}},
		"ladder of times":    {Options{Ladder: []int{3}, Duration: time.Hour}, []Load{{Limit: time.Hour, Concurrency: 3}}},
	} {
		equal(t, name, test.options.Loads(schedule.Plan{}), test.want)
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
		total, known := test.load.Total()
		equal(t, name+": total", total, test.total)
		equal(t, name+": whether it is known", known, test.known)
		equal(t, name+": words", test.load.String(), test.words)
		equal(t, name+": in flight", test.load.InFlight(), test.inFlight)
	}
}
