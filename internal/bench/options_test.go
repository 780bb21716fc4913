package bench

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/schedule"
)

// every returns a plan of one round in so many milliseconds.
func every(ms int) schedule.Plan {
	return schedule.Plan{Interval: time.Duration(ms) * time.Millisecond}
}

func TestLoads(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    []Load
	}{
		"nothing said":   {Options{}, []Load{{Requests: 10}}},
		"so many":        {Options{Requests: 7}, []Load{{Requests: 7}}},
		"closed loop":    {Options{Concurrency: 4}, []Load{{Requests: 40, Concurrency: 4}}},
		"for a time":     {Options{Concurrency: 4, Duration: time.Minute}, []Load{{Limit: time.Minute, Concurrency: 4}}},
		"ladder at once": {Options{Ladder: []int{1, 8}, Unpaced: true}, []Load{{Requests: 1}, {Requests: 8}}},
		"ladder": {Options{Ladder: []int{1, 8}}, []Load{
			{Requests: 10, Concurrency: 1},
			{Requests: 80, Concurrency: 8},
		}},
		"rates": {Options{Rates: []float64{0.5, 4}}, []Load{
			{Plan: every(2000), Requests: 10},
			{Plan: every(250), Requests: 10},
		}},
		"ladder of requests": {Options{Ladder: []int{1, 8}, Requests: 50}, []Load{
			{Requests: 50, Concurrency: 1},
			{Requests: 50, Concurrency: 8},
		}},
		"ladder of times": {Options{Ladder: []int{3}, Duration: time.Hour}, []Load{
			{Limit: time.Hour, Concurrency: 3},
		}},
	} {
		equal(t, name, test.options.Loads(schedule.Plan{}), test.want)
	}
}
