package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/config"
)

// A burn is one of the alerts on the error budget: how fast it burns, over which
// windows, and for how long it must do so.
type burn struct {
	rate        float64
	long, short time.Duration
	lasting     time.Duration
}

// burns are those of the SRE workbook, as alerts/rules.yaml has them.
var burns = []burn{
	{14.4, time.Hour, 5 * time.Minute, 2 * time.Minute},
	{6, 6 * time.Hour, 30 * time.Minute, 15 * time.Minute},
	{3, 24 * time.Hour, 2 * time.Hour, time.Hour},
	{1, 72 * time.Hour, 6 * time.Hour, 3 * time.Hour},
}

// leastBad is how many probes that alerts count as bad at least: ProberErrorBudgetBurn.
const leastBad = 3

// TestObjectivesPage holds the tables of docs/slo.md against arithmetic, and the
// best goals against the rule by which the configuration refuses them.
func TestObjectivesPage(t *testing.T) {
	page := read(t, "docs/slo.md")
	rates := rowsOf(t, page, "| QPS | a probe every |")
	for _, cells := range rates {
		if diff := rateRow(t, cells[0], cells[3]); diff != strings.Join(cells, " | ") {
			t.Errorf("docs/slo.md says\n\t%s, want\n\t%s", strings.Join(cells, " | "), diff)
		}
		if qps, goal := cells[0], cells[3]; !accepted(qps, goal) {
			t.Errorf("%s probes a second: a goal of %s is refused", qps, goal)
		} else if better := oneBetter(t, goal); accepted(qps, better) {
			t.Errorf("%s probes a second: %s is not the best goal, %s is accepted", qps, goal, better)
		}
	}
	windows := rowsOf(t, page, "| QPS | goal | 14.4×")
	for _, cells := range windows {
		if !accepted(cells[0], cells[1]) {
			t.Errorf("%s probes a second: a goal of %s is refused", cells[0], cells[1])
		}
		if want := windowRow(t, cells[0], cells[1]); want != strings.Join(cells, " | ") {
			t.Errorf("docs/slo.md says\n\t%s, want\n\t%s", strings.Join(cells, " | "), want)
		}
	}
	if len(rates) < 5 || len(windows) < 5 {
		t.Errorf("%d and %d rows found: the test does not see them", len(rates), len(windows))
	}
}

// TestBurnsAreThoseOfTheRules holds that the page speaks of the alerts there are.
func TestBurnsAreThoseOfTheRules(t *testing.T) {
	rules, page := read(t, "alerts/rules.yaml"), read(t, "docs/slo.md")
	for _, b := range burns {
		factor := strconv.FormatFloat(b.rate, 'f', -1, 64)
		if b.rate != 1 && !strings.Contains(rules, "clamp_max("+factor+" * target:llm_probe_objective_budget:ratio") {
			t.Errorf("no rule burns at %s", factor)
		}
		if label := fmt.Sprintf("long: %s, short: %s}", window(b.long), window(b.short)); strings.Count(rules, label) != 1 {
			t.Errorf("the rules have %q %d times, want once", label, strings.Count(rules, label))
		}
		row := fmt.Sprintf("| %s | %s & %s | %s |", factor, window(b.long), window(b.short), window(b.lasting))
		if !strings.Contains(page, row) {
			t.Errorf("docs/slo.md has no row %s", row)
		}
	}
	if !strings.Contains(rules, "bad_increase1h > 2.5") {
		t.Errorf("a page does not need %d bad probes", leastBad)
	}
}

// rateRow is the row of a rate: "0.1 | 10 s | 360 | 0.99942 | 34 min | 2.8 h".
func rateRow(t *testing.T, qps, goal string) string {
	t.Helper()
	rate := number(t, qps)
	every := time.Duration(float64(time.Second) / rate)
	return strings.Join([]string{
		qps, fmt.Sprintf("%.0f s", every.Seconds()), fmt.Sprintf("%.0f", rate*3600), goal,
		patience(200 * every), patience(1000 * every),
	}, " | ")
}

// windowRow is the row of an objective: the fewest bad probes in each window, and
// when a total outage pages.
func windowRow(t *testing.T, qps, goal string) string {
	t.Helper()
	rate, budget := number(t, qps), 1-number(t, goal)
	cells := []string{qps, goal}
	for _, b := range burns {
		cells = append(cells, fmt.Sprintf("%d & %d", max(leastBad, fewest(rate, budget, b.rate, b.long)), fewest(rate, budget, b.rate, b.short)))
	}
	first := burns[0]
	bad := max(leastBad, fewest(rate, budget, first.rate, first.long), fewest(rate, budget, first.rate, first.short))
	page := time.Duration(float64(bad)/rate*float64(time.Second)) + first.lasting
	return strings.Join(append(cells, fmt.Sprintf("%.1f min", page.Minutes())), " | ")
}

// fewest is the smallest number of bad probes of a window that is above what a
// burn rate allows.
func fewest(qps, budget, burn float64, window time.Duration) int {
	const rounding = 1e-9 // what is equal on paper is not above
	return int(math.Floor(burn*budget*qps*window.Seconds()*(1+rounding))) + 1
}

// patience is a time as people say it, rounded up to minutes below an hour.
func patience(d time.Duration) string {
	if d < time.Hour {
		return fmt.Sprintf("%.0f min", math.Ceil(d.Minutes()))
	}
	return fmt.Sprintf("%.1f h", math.Ceil(d.Hours()*10)/10)
}

// window is a duration as Prometheus writes it.
func window(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

// accepted reports whether the configuration takes a goal at a rate.
func accepted(qps, goal string) bool {
	_, err := config.Load(config.Options{Environ: map[string]string{
		"PROBER_TARGETS_0_URL": "http://a", "PROBER_QPS": qps,
		"PROBER_OBJECTIVES_0_SIGNAL": "availability", "PROBER_OBJECTIVES_0_GOAL": goal,
	}})
	return err == nil
}

// oneBetter is a goal with one more in its last place.
func oneBetter(t *testing.T, goal string) string {
	t.Helper()
	_, decimals, _ := strings.Cut(goal, ".")
	return strconv.FormatFloat(number(t, goal)+math.Pow10(-len(decimals)), 'f', len(decimals), 64)
}

// rowsOf are the cells of the table that begins with a heading.
func rowsOf(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	_, table, found := strings.Cut(page, "\n"+heading)
	if !found {
		t.Fatalf("no table %q", heading)
	}
	for _, line := range strings.Split(table, "\n")[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
	}
	return rows
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
