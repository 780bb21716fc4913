package promquery

import (
	"fmt"
	"testing"
	"time"
)

// TestBudgets checks what is made of two objectives, one of which missed the hour before the last of the range.
func TestBudgets(t *testing.T) {
	hours := func(label string, counts ...int) sample {
		var values [][]any
		for i, n := range counts {
			values = append(values, []any{midnight.Add(time.Duration(7+i-len(counts)) * time.Hour).Unix(), fmt.Sprint(n)})
		}
		return sample{"metric": point(0, label, "objective=ttft")["metric"], "values": values}
	}
	failed := hours("outcome=timeout", 30, 0)
	delete(failed["metric"].(map[string]string), "objective")
	gone := point(0.9, "target=gone", "objective=ttft")
	q, err := run(t, &fake{answers: []answer{
		{"last_over_time goal_ratio [2592000000ms]", []sample{point(0.75, "objective=ttft"), point(0.99, "objective=availability"), gone}},
		{"last_over_time limit_seconds", []sample{point(2, "objective=ttft")}},
		{"last_over_time interval_seconds", []sample{point(10)}},
		{"objective_events [3600000ms]", []sample{hours("verdict=bad", 40, 0), hours("verdict=good", 320, 359)}},
		{"probes_total [3600000ms]", []sample{failed}},
		{"probes_total", []sample{point(40, "outcome=ok")}},
	}}, Request{})
	if err != nil || len(q.Document.Summaries) != 1 {
		t.Fatalf("%+v, %v", q.Document, err)
	}
	const want = "[{{ttft<2s@75% 0.75 679 719 0} 2 2.592e+06 7200 259200 0.0006172839506172839 0.9993827160493827 [{2026-11-01 04:00:00 +0000 UTC 40 360 map[timeout:30]}]}" +
		" {{availability@99% 0.99 0 0 0} 0 2.592e+06 0 259200 0 1 []}]"
	if got := fmt.Sprint(q.Document.Summaries[0].Budgets); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}
