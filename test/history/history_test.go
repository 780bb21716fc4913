// Package history measures what the regression alerts find, and what they cry
// wolf about, over simulated weeks. It holds no rule: it loads alerts/rules.yaml.
package history

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var (
	updateFlag = flag.Bool("update", false, "rewrite the rows of docs/regression.md and testdata/rows.md")
	longFlag   = flag.Bool("long", false, "measure all scenarios, which takes many minutes")
	rulesFlag  = flag.String("rules", "../../alerts/rules.yaml", "`file` of the rules")
	noiseFlag  = flag.Uint64("noise", 0, "measure other weeks: any `number`; no row is compared then")
)

// brief are the scenarios of every run, long the others. Those of one row live
// in one Prometheus, and rows side by side.
func brief() [][]scenario {
	return [][]scenario{
		{
			{name: "nothing happens", group: "stacks", seed: 1},
			{name: "ITL +15%", group: "stacks", seed: 2, itl: 1.15, alert: "ProberITLRegression"},
		},
		{{name: "ITL +10%", seed: 3, itl: 1.10, alert: "ProberITLRegression"}},
	}
}

func long() [][]scenario {
	itl, ttft, rarely := "ProberITLRegression", "ProberTTFTRegression", 100*time.Second
	return [][]scenario{
		{{name: "ITL +20%", seed: 4, itl: 1.20, alert: itl}, {name: "ITL +30%", seed: 5, itl: 1.30, alert: itl}},
		{{name: "TTFT +15%", seed: 6, ttft: 1.15, alert: ttft}, {name: "TTFT +30%", seed: 7, ttft: 1.30, alert: ttft}},
		{
			{name: "nothing happens, a probe each 100 s", seed: 8, interval: rarely},
			{name: "ITL +15%, a probe each 100 s", seed: 9, itl: 1.15, interval: rarely, alert: itl},
			{name: "TTFT +30%, a probe each 100 s", seed: 10, ttft: 1.30, interval: rarely, alert: ttft},
		},
		{
			{name: "nothing happens, classic buckets", seed: 11, classic: true},
			{name: "ITL +15%, classic buckets", seed: 12, itl: 1.15, classic: true, alert: itl},
		},
		{
			{name: "ITL +15% in the first 14 days", seed: 13, itl: 1.15, cold: true, alert: itl},
			{name: "ITL +30% in the first 14 days", seed: 14, itl: 1.30, cold: true, alert: itl},
		},
		{
			{name: "nothing happens, a restless server", seed: 15, drift: 0.03},
			{name: "ITL +15%, a restless server", seed: 16, itl: 1.15, drift: 0.03, alert: itl},
		},
		{
			{name: "nothing happens, quick weekends", seed: 17, weekend: 0.95},
			{name: "ITL +10%, quick weekends", seed: 18, itl: 1.10, weekend: 0.95, alert: itl},
			{name: "ITL +15%, quick weekends", seed: 19, itl: 1.15, weekend: 0.95, alert: itl},
			{name: "nothing happens, busy weekends", seed: 20, weekend: 1.10},
			{name: "ITL +15%, busy weekends", seed: 21, itl: 1.15, weekend: 1.10, alert: itl},
		},
		severe(false), severe(true),
	}
}

// severe are the scenarios of the fast alerts, scraped with native histograms or without.
func severe(classic bool) []scenario {
	const warning, critical = "ProberSevereSlowdown", "ProberSevereSlowdown, critical"
	all := []scenario{
		{name: "nothing happens, each 30 s", seed: 22},
		{name: "ITL × 1.15", seed: 23, itl: 1.15, alert: warning},
		{name: "ITL × 1.5", seed: 24, itl: 1.5, alert: warning},
		{name: "ITL × 2", seed: 25, itl: 2, alert: warning},
		{name: "ITL × 3", seed: 26, itl: 3, alert: critical},
		{name: "ITL × 10", seed: 27, itl: 10, alert: critical},
		{name: "TTFT × 1.5", seed: 28, ttft: 1.5, alert: warning},
		{name: "TTFT × 3", seed: 29, ttft: 3, alert: critical},
		{name: "TTFT × 3 in the first 14 days", seed: 30, ttft: 3, cold: true, alert: critical},
		{name: "outage", seed: 31, down: true, alert: "ProberTargetDown, critical"},
	}
	for i := range all {
		all[i].fine, all[i].classic = true, classic
		if classic {
			all[i].name += ", classic buckets"
		}
	}
	return all
}

// TestRegressionAlerts holds that the page says what is found now: a rule that finds less, or fires without a reason, gives
// another row.
func TestRegressionAlerts(t *testing.T) {
	rows := brief()
	if *longFlag {
		rows = append(rows, long()...)
	}
	table := make(chan string, 100)
	t.Run("scenarios", func(t *testing.T) {
		for _, together := range rows {
			t.Run(together[0].name, func(t *testing.T) {
				t.Parallel()
				for _, s := range run(t, together, learning+scored) {
					t.Log(s.row())
					for _, e := range s.episodes {
						t.Logf("%s for %s: %s", e.from.Format("Mon 2006-01-02 15:04"), e.to.Sub(e.from), e.labels)
					}
					table <- s.row()
				}
			})
		}
	})
	close(table)
	if *noiseFlag == 0 {
		compare(t, table)
	}
}

// compare holds rows against those that begin with the same cell, on the page or on the one beside this test, or writes them there.
func compare(t *testing.T, table <-chan string) {
	t.Helper()
	cell := func(line string) string { first, _, _ := strings.Cut(line, " | "); return first }
	rows := map[string]string{}
	for row := range table {
		rows[cell(row)] = row
	}
	for _, path := range []string{"../../docs/regression.md", "testdata/rows.md"} {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(page), "\n")
		for i, line := range lines {
			row, measured := rows[cell(line)]
			delete(rows, cell(line))
			if measured && line != row && !*updateFlag {
				t.Errorf("%s has another row (-update rewrites it):\n%s\nmeasured\n%s", path, line, row)
			} else if measured {
				lines[i] = row
			}
		}
		if *updateFlag {
			if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil { //nolint:gosec // a page of the documentation
				t.Fatal(err)
			}
		}
	}
	for _, row := range rows {
		t.Errorf("no page has the row %s", row)
	}
}
