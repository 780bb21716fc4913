package promquery

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// TestBudgets checks what is made of two objectives, one of which missed the hour before the last of the range.
func TestBudgets(t *testing.T) {
	hours := func(label string, counts ...int) sample {
		var values [][]any
		for i, n := range counts {
			end := midnight.Add(time.Duration(7+i-len(counts)) * time.Hour)
			values = append(values, []any{end.Unix(), fmt.Sprint(n)})
		}
		return sample{"metric": point(0, label, "objective=ttft")["metric"], "values": values}
	}
	failed := hours("outcome=timeout", 30, 0)
	delete(failed["metric"].(map[string]string), "objective")
	gone := point(0.9, "target=gone", "objective=ttft")
	q, err := run(t, &fake{answers: []answer{
		{"objective_goal_ratio{} or last_over_time goal_ratio [2592000000ms]", []sample{
			point(0.75, "objective=ttft"), point(0.99, "objective=availability"), gone,
		}},
		{"objective_limit_seconds{} or last_over_time limit_seconds", []sample{point(2, "objective=ttft")}},
		{"objective_events [3600000ms] >= 0.5", []sample{hours("verdict=bad", 40, 0), hours("verdict=good", 320, 359)}},
		{"probes_total [3600000ms] >= 0.5", []sample{failed}},
		{"probes_total", []sample{point(40, "outcome=ok")}},
	}}, Request{})
	if err != nil || len(q.Document.Summaries) != 1 {
		t.Fatalf("%+v, %v", q.Document, err)
	}
	const window = 30 * 86400
	spent := report.Number(40 / (0.25 * 258_840))
	want := []report.Budget{
		{
			Attainment: report.Attainment{Objective: "ttft<2s@75%", Goal: 0.75, Good: 679, Judged: 719},
			Limit:      2, Window: window, Covered: 2 * 3600, Due: 258_840, Spent: spent, Left: 1 - spent,
			Hours: []report.BadHour{{
				Start: midnight.Add(4 * time.Hour), Bad: 40, Judged: 360,
				Outcomes: map[probe.Outcome]int{probe.Timeout: 30},
			}},
		},
		{
			Attainment: report.Attainment{Objective: "availability@99%", Goal: 0.99},
			Window:     window, Left: 1, Hours: []report.BadHour{},
		},
	}
	if diff := cmp.Diff(want, q.Document.Summaries[0].Budgets, near()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// near compares numbers with the error of floating point.
func near() cmp.Option {
	return cmp.Comparer(func(a, b report.Number) bool { return math.Abs(float64(a-b)) < 1e-12 })
}

// TestBudgetOfItsHours holds the arithmetic; that the worst five hours are in it, the latest of equal ones first; and
// that the hours are only read: a second budget of them is the same.
func TestBudgetOfItsHours(t *testing.T) {
	hours := make([]report.BadHour, 720)
	for i := range hours {
		hours[i] = report.BadHour{Start: midnight.Add(time.Duration(i) * time.Hour), Outcomes: map[probe.Outcome]int{}}
	}
	for i, bad := range []int{3, 0, 17, 2, 9, 9, 1} {
		hours[i].Judged, hours[i].Bad = 360, bad
	}
	objective := probe.Objective{Name: "fast_start", Signal: probe.SignalTTFT, Limit: 2050 * time.Millisecond, Goal: 0.95}
	got := newBudget(objective, hours)
	want := report.Budget{
		Attainment: report.Attainment{Objective: "fast_start<2.05s@95%", Goal: 0.95, Good: 2479, Judged: 2520},
		Limit:      2.05, Window: 30 * 86400, Covered: 7 * 3600, Due: 259_200,
		Spent: report.Number(41 / (0.05 * 259_200)), Left: report.Number(1 - 41/(0.05*259_200)),
		Hours: []report.BadHour{hours[2], hours[5], hours[4], hours[0], hours[3]},
	}
	if diff := cmp.Diff(want, got, near()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, newBudget(objective, hours)); diff != "" {
		t.Errorf("a second one (-first +second):\n%s", diff)
	}
	bare := newBudget(objective, hours[100:])
	if bare.Due != 0 || bare.Spent != 0 || bare.Left != 1 || !bare.Missed() {
		t.Errorf("without data: %+v", bare)
	}
}
