package bench

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/schedule"
)

func TestLoad(t *testing.T) {
	clocked := func(requests int, limit time.Duration) Load {
		plan := schedule.Plan{Interval: 10 * time.Second, Name: "phase"}
		return Load{ByTheClock: true, Plan: plan, Requests: requests, Limit: limit}
	}
	for name, test := range map[string]struct {
		load     Load
		total    int
		known    bool
		text     string
		inFlight int
	}{
		"requests by the clock":              {clocked(5, 0), 5, true, "0.1 QPS", 0},
		"a time by the clock":                {clocked(0, 25*time.Second), 3, true, "0.1 QPS", 0},
		"a time that ends with a start":      {clocked(0, 30*time.Second), 3, true, "0.1 QPS", 0},
		"a time that ends after a start":     {clocked(0, 30*time.Second+1), 4, true, "0.1 QPS", 0},
		"requests that end before a time":    {clocked(4, time.Hour), 4, true, "0.1 QPS", 0},
		"all at once":                        {Load{Requests: 9}, 9, true, "9 at once", 9},
		"a closed loop for a time":           {Load{Concurrency: 2, Limit: time.Hour}, 0, false, "concurrency 2", 2},
		"a closed loop of that many of them": {Load{Concurrency: 2, Requests: 9}, 9, true, "concurrency 2", 2},
	} {
		total, known := test.load.Total()
		equal(t, name+": total", total, test.total)
		equal(t, name+": whether it is known", known, test.known)
		equal(t, name+": text", test.load.String(), test.text)
		equal(t, name+": in flight", test.load.InFlight(), test.inFlight)
	}
}
