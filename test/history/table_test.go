package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// row is what docs/regression.md or testdata/rows.md says of a scenario: a line of a table.
func (s score) row() string {
	found, delays, ends, others, wrong, early := "–", "–", "–", []string{}, []string{}, []string{}
	for _, f := range s.findings {
		name := strings.TrimPrefix(f.alert, "Prober")
		if f.alert == s.scenario.alert {
			found, delays = fmt.Sprintf("%d of 7", len(f.delays)), spread(f.delays)
			ends = spread(slices.Collect(maps.Values(f.ends)))
		} else if len(f.delays) > 0 {
			others = append(others, fmt.Sprintf("%s %d", name, len(f.delays)))
		}
		if f.wrong > 0 {
			wrong = append(wrong, fmt.Sprintf("%s %d", name, f.wrong))
		}
		if f.early > 0 {
			early = append(early, fmt.Sprintf("%s %d", name, f.early))
		}
	}
	if s.scenario.alert != "" && found == "–" {
		found = "0 of 7"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |",
		s.scenario.name, found, delays, ends, list(others), list(wrong), list(early))
}

// list joins words, in order; that of none is a 0.
func list(words []string) string {
	if len(words) == 0 {
		return "0"
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// spread is the median of some times and the range they are in.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "–"
	}
	sorted := slices.Sorted(slices.Values(all))
	minutes := func(d time.Duration) int { return int(d.Minutes()) }
	return fmt.Sprintf("%d min (%d to %d)", minutes(sorted[len(sorted)/2]), minutes(sorted[0]), minutes(sorted[len(sorted)-1]))
}
