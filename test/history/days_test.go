package history

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The groups of rules whose history grows, and those that compare replicas.
const (
	latencyRules    = "prober-latency"
	regressionRules = "prober-regression"
	slowdownRules   = "prober-slowdown"
	replicaRules    = "prober-replicas"
)

// week is a column of a table of false alerts.
const week = 7 * day

// TestFirstDays holds what is found of a slowdown by the day on which it begins. Each begins at five times of that day,
// the first of them after twelve minutes, at a target of its own that nothing happens to before.
func TestFirstDays(t *testing.T) {
	requireLong(t)
	kinds := []scenario{
		{name: "ITL × 1.2 from the day", itl: 1.2, alert: "ProberITLRegression"},
		{name: "TTFT × 1.2 from the day", ttft: 1.2, alert: "ProberTTFTRegression"},
		{name: "ITL × 3 from the day", itl: 3, alert: "ProberSevereSlowdown, critical"},
	}
	days := []int{1, 2, 3, 7, 8, 28}
	starts := []time.Duration{12 * time.Minute, 5 * time.Hour, 10 * time.Hour, 15 * time.Hour, 20 * time.Hour}
	cells := make([][]string, len(kinds)) // by kind and day
	for i := range cells {
		cells[i] = make([]string, len(days))
	}
	t.Run("days", func(t *testing.T) {
		for column, begins := range days {
			t.Run(fmt.Sprint(begins), func(t *testing.T) {
				t.Parallel()
				var together []scenario
				for i, kind := range kinds {
					for j, at := range starts {
						s := kind
						s.name = fmt.Sprintf("%s %d, %s", kind.name, begins, at)
						s.seed = uint64(500 + 100*column + 10*i + j) //nolint:gosec // small
						s.begins, s.at = begins, at
						together = append(together, s)
					}
				}
				scores := run(t, together, time.Duration(begins+1)*day, latencyRules, regressionRules, slowdownRules)
				for i := range kinds {
					cells[i][column] = found(t, scores[i*len(starts):(i+1)*len(starts)])
				}
			})
		}
	})
	table := make(chan string, len(kinds))
	for i, kind := range kinds {
		table <- fmt.Sprintf("| %s | %s |", kind.name, strings.Join(cells[i], " | "))
	}
	close(table)
	compareUnlessOther(t, table)
}

// found is how many scores have the alert that was to come, and after how long.
func found(t *testing.T, scores []score) string {
	t.Helper()
	n, delays := 0, []time.Duration{}
	for _, s := range scores {
		logEpisodes(t, s)
		for _, f := range s.findings {
			if f.alert == s.scenario.alert {
				n += len(f.found)
				delays = append(delays, f.delays...)
			}
		}
	}
	if n == 0 {
		return fmt.Sprintf("0 of %d", len(scores))
	}
	return fmt.Sprintf("%d of %d: %s", n, len(scores), spread(delays))
}

// TestQuietTargets holds that nothing fires at targets that nothing happens to, from their first minute, by the week.
func TestQuietTargets(t *testing.T) {
	requireLong(t)
	var targets, replicas, pairs []scenario
	for i := range uint64(20) {
		targets = append(targets, scenario{name: fmt.Sprintf("target %d", i+1), seed: 200 + i})
	}
	for i := range uint64(8) {
		replicas = append(replicas, replica("w", i+1, 300+i))
	}
	for i := range uint64(10) {
		workload := fmt.Sprintf("pair%d", i+1)
		pairs = append(pairs, replica(workload, 1, 320+2*i), replica(workload, 2, 321+2*i))
	}
	table := make(chan string, 3)
	t.Run("scenarios", func(t *testing.T) {
		t.Run("targets", func(t *testing.T) {
			t.Parallel()
			scores := run(t, targets, scored, latencyRules, regressionRules, slowdownRules)
			table <- "| twenty targets, nothing happens" + byWeek(t, scores)
		})
		t.Run("replicas", func(t *testing.T) {
			t.Parallel()
			scores := run(t, replicas, scored, latencyRules, slowdownRules, regressionRules, replicaRules)
			table <- "| eight equal replicas" + byWeek(t, scores)
		})
		t.Run("pairs", func(t *testing.T) {
			t.Parallel()
			scores := run(t, pairs, scored, latencyRules, slowdownRules, regressionRules, replicaRules)
			table <- "| ten pairs of equal replicas" + byWeek(t, scores)
		})
	})
	close(table)
	compareUnlessOther(t, table)
}

// byWeek is the rest of a row: the alerts of each week.
func byWeek(t *testing.T, scores []score) string {
	t.Helper()
	row := ""
	for from := begin(); from.Before(begin().Add(scored)); from = from.Add(week) {
		counts, fired := map[string]int{}, []string{}
		for _, s := range scores {
			for _, e := range s.episodes {
				if !e.from.Before(from) && e.from.Before(from.Add(week)) {
					counts[strings.TrimPrefix(e.alert, "Prober")]++
				}
			}
		}
		for alert, n := range counts {
			fired = append(fired, fmt.Sprintf("%s %d", alert, n))
		}
		row += " | " + list(fired)
	}
	for _, s := range scores {
		logEpisodes(t, s)
	}
	return row + " |"
}

// TestSlowReplica holds that the one replica of eight, or of two, that becomes slower is found, and no other.
func TestSlowReplica(t *testing.T) {
	requireLong(t)
	table := make(chan string, 5)
	t.Run("scenarios", func(t *testing.T) {
		for _, slow := range []scenario{
			{name: "ITL × 1.25 at one of eight replicas", seed: 400, itl: 1.25},
			{name: "TTFT × 1.25 at one of eight replicas", seed: 420, ttft: 1.25},
			{name: "ITL × 1.21 at one of two replicas", seed: 440, itl: 1.21},
			{name: "ITL × 1.27 at one of two replicas", seed: 450, itl: 1.27},
			{name: "TTFT × 1.27 at one of two replicas", seed: 460, ttft: 1.27},
		} {
			t.Run(slow.name, func(t *testing.T) {
				t.Parallel()
				slow.workload, slow.cold, slow.alert = "w", true, "ProberSlowReplica"
				together := []scenario{slow}
				siblings := uint64(7)
				if strings.HasSuffix(slow.name, "two replicas") {
					siblings = 1
				}
				for i := range siblings {
					together = append(together, replica("w", i+1, slow.seed+1+i))
				}
				scores := run(t, together, learning, latencyRules, slowdownRules, regressionRules, replicaRules)
				for _, s := range scores {
					logEpisodes(t, s)
				}
				for _, sibling := range scores[1:] {
					for _, f := range sibling.findings {
						if f.alert == slow.alert {
							t.Errorf("%s is found as well", sibling.scenario.name)
						}
					}
				}
				table <- scores[0].row()
			})
		}
	})
	close(table)
	compareUnlessOther(t, table)
}

// replica is one of a workload that nothing happens to.
func replica(workload string, n, seed uint64) scenario {
	return scenario{name: fmt.Sprintf("%s/10.0.0.%d", workload, n), workload: workload, seed: seed}
}

// requireLong skips a test that takes many minutes, unless it was asked for.
func requireLong(t *testing.T) {
	t.Helper()
	if !*longFlag {
		t.Skip("takes many minutes: -long measures it")
	}
}

// logEpisodes logs what fired for a target.
func logEpisodes(t *testing.T, s score) {
	t.Helper()
	for _, e := range s.episodes {
		from := e.from.Format("Mon 2006-01-02 15:04")
		t.Logf("%s: %s for %s: %s", s.scenario.name, from, e.to.Sub(e.from), e.labels)
	}
}

// compareUnlessOther compares rows with the pages, unless other weeks are measured.
func compareUnlessOther(t *testing.T, table <-chan string) {
	t.Helper()
	if *noiseFlag == 0 {
		compare(t, table)
	}
}
