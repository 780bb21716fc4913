package bench

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/schedule"
)

func TestLoad(t *testing.T) {
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
