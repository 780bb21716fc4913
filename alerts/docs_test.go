package alerts

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEveryAlertIsInTheTable holds that the table of docs/alerts.md has a row for each alert with its severity and its
// "for", and no other rows. What the other columns say is for people to compare.
func TestEveryAlertIsInTheTable(t *testing.T) {
	page, err := os.ReadFile("../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]int{} // by row: how many of it the page lacks
	for _, r := range alerting(t) {
		name := fmt.Sprintf("[%s](../alerts/%s)", r.Alert, RunbookFile(r.Alert))
		missing[tableRow(name, r.Labels["severity"], cmp.Or(r.For, "–"))]++
	}
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| [Prober") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 6 || slices.Contains(cells, "") {
			t.Errorf("docs/alerts.md: a row of the table of alerts has not six cells with text:\n%s", line)
			continue
		}
		missing[tableRow(cells[0], cells[1], cells[3])]--
	}
	for _, row := range slices.Sorted(maps.Keys(missing)) {
		switch n := missing[row]; {
		case n > 0:
			t.Errorf("docs/alerts.md: write this row into the table of alerts, with words for the dots:\n%s", row)
		case n < 0:
			t.Errorf("docs/alerts.md: correct this row of the table of alerts, or remove it: no alert is like it\n%s", row)
		}
	}
}

// tableRow returns a row of the table of alerts with dots for what only people can compare.
func tableRow(name, severity, pending string) string {
	return fmt.Sprintf("| %s | %s | … | %s | … | … |", name, severity, pending)
}
