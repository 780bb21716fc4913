package config

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestTableOfRates holds the cells of the table in docs/rate.md that the rate alone decides: the interval, the tokens of
// a day with the default prompt, the best goal, and how long the samples of p95 and p99 take.
func TestTableOfRates(t *testing.T) {
	page, err := os.ReadFile("../../docs/rate.md")
	if err != nil {
		t.Fatal(err)
	}
	target := load(t, Options{Environ: withTarget()}).Targets[0]
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		qps, err := strconv.ParseFloat(strings.Trim(strings.TrimSuffix(cells[0], "(default)"), " *"), 64)
		if err != nil || len(cells) != 9 {
			continue
		}
		rows++
		goal, _ := bestGoal(qps)
		tokens := qps * 86400 * float64(target.PromptTokens+target.MaxTokens)
		for column, want := range map[int]string{
			1: roughly(1 / qps),
			2: millions(tokens),
			6: strconv.FormatFloat(goal, 'f', -1, 64),
			7: roughly(200 / qps),
			8: roughly(1000 / qps),
		} {
			if cells[column] != want {
				t.Errorf("%v QPS: the page says %q in column %d, want %q", qps, cells[column], column, want)
			}
		}
	}
	if rows != 5 {
		t.Errorf("%d rows: the test does not see the table", rows)
	}
}

// roughly returns seconds in the unit that fits, to two digits.
func roughly(seconds float64) string {
	switch {
	case seconds <= 100:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%.2g min", seconds/60)
	case seconds < 2*86400:
		return fmt.Sprintf("%.2g h", seconds/3600)
	}
	return fmt.Sprintf("%.2g d", seconds/86400)
}

// millions returns a number to three digits.
func millions(n float64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%.3g billion", n/1e9)
	}
	return fmt.Sprintf("%.3g million", n/1e6)
}
