package bench

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/schedule"
)

func TestLoads(t *testing.T) {
	for name, test := range map[string]struct {
		wish  Wish
		want  []Load
		words []string
	}{
		"nothing said":       {Wish{}, []Load{{Requests: 10}}, []string{"10 at once"}},
		"so many":            {Wish{Requests: 7}, []Load{{Requests: 7}}, []string{"7 at once"}},
		"at a time":          {Wish{AtOnce: 4}, []Load{{Requests: 40, AtOnce: 4}}, []string{"4 at a time"}},
		"for a time":         {Wish{AtOnce: 4, Duration: time.Minute}, []Load{{Limit: time.Minute, AtOnce: 4}}, []string{"4 at a time"}},
		"ladder":             {Wish{Ladder: []int{1, 8}}, []Load{{Requests: 1}, {Requests: 8}}, []string{"1 at once", "8 at once"}},
		"ladder of requests": {Wish{Ladder: []int{1, 8}, Requests: 50}, []Load{{Requests: 50, AtOnce: 1}, {Requests: 50, AtOnce: 8}}, []string{"1 at a time", "8 at a time"}},
		"ladder of times":    {Wish{Ladder: []int{3}, Duration: time.Hour}, []Load{{Limit: time.Hour, AtOnce: 3}}, []string{"3 at a time"}},
	} {
		t.Run(name, func(t *testing.T) {
			loads := test.wish.Loads()
			equal(t, "loads", loads, test.want)
			for i, l := range loads {
				equal(t, "words", l.Words(), test.words[i])
			}
		})
	}
}

func TestTotal(t *testing.T) {
	plan := schedule.Plan{Interval: 10 * time.Second, Name: "phase"}
	for name, test := range map[string]struct {
		load  Load
		total int
		known bool
		words string
		crowd int
	}{
		"requests by the clock": {Load{Plan: plan, Requests: 5}, 5, true, "0.1 QPS", 0},
		"time by the clock":     {Load{Plan: plan, Limit: 25 * time.Second}, 3, true, "0.1 QPS", 0},
		"a whole interval":      {Load{Plan: plan, Limit: 30 * time.Second}, 3, true, "0.1 QPS", 0},
		"whatever is less":      {Load{Plan: plan, Limit: time.Hour, Requests: 4}, 4, true, "0.1 QPS", 0},
		"at once":               {Load{Requests: 9}, 9, true, "9 at once", 9},
		"at a time":             {Load{AtOnce: 2, Limit: time.Hour}, 0, false, "2 at a time", 2},
	} {
		t.Run(name, func(t *testing.T) {
			total, known := test.load.Total()
			if total != test.total || known != test.known {
				t.Errorf("total %d, %t", total, known)
			}
			equal(t, "words", test.load.Words(), test.words)
			equal(t, "crowd", test.load.Crowd(), test.crowd)
		})
	}
}
