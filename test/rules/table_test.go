// Package rules tests the alerts with promtool: each row of alerts/table on both sides of its threshold, and the stories of
// alerts/stories. "make rules" runs it.
package rules

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// A kind is one way to render the rules and to scrape histograms.
type kind struct {
	name    string
	rules   []group
	common  map[string]string // labels of all series
	classic bool              // histograms are scraped as classic buckets
}

// TestTable gives each row of the table to promtool: with the rules as they are shipped. Rows with texts or histograms
// also with classic buckets, and with the rules of an organisation that tells targets apart by cluster and has no native
// histograms.
func TestTable(t *testing.T) {
	shipped := render(t, false)
	kinds := []kind{
		{name: "shipped", rules: shipped},
		{name: "classic scrapes", rules: shipped, classic: true},
		{
			name: "--classic --by cluster", rules: render(t, true, "cluster"),
			common: map[string]string{"cluster": "c"}, classic: true,
		},
	}
	for _, r := range readRows(t) {
		for _, k := range kinds {
			isWanted := k.name == "shipped" || r.hasHistogram() || r.hasTexts() && k.name != "classic scrapes"
			if slices.Contains(r.Without, k.name) || !isWanted {
				continue
			}
			t.Run(r.String()+", "+k.name, func(t *testing.T) {
				t.Parallel()
				rule, interval, ok := find(k.rules, r.Alert, r.Labels)
				if !ok {
					t.Fatalf("no rule is %s with the labels %v", r.Alert, r.Labels)
				}
				tr := newTrial(r, k, rule, interval)
				dir := t.TempDir()
				output, ok := tr.run(t, dir, tr.below(t), tr.above(t))
				if !ok {
					t.Errorf("%s\n%s", output, tr.seen(t, dir))
				}
			})
		}
	}
}

// run writes the rules that the row needs and its sides to dir, and returns what promtool says. ok is whether it is content.
func (tr trial) run(t *testing.T, dir string, sides ...side) (output string, ok bool) {
	t.Helper()
	rules := needed(tr.kind.rules, tr.rule, tr.row)
	writeYAML(t, filepath.Join(dir, "rules.yaml"), map[string]any{"groups": rules})
	var order []string // promtool evaluates groups in any order otherwise
	for _, g := range rules {
		order = append(order, g.Name)
	}
	file := filepath.Join(dir, "test.yaml")
	writeYAML(t, file, map[string]any{
		"rule_files":          []string{"rules.yaml"},
		"evaluation_interval": tr.every.String(),
		"group_eval_order":    order,
		"tests":               sides,
	})
	said, err := exec.CommandContext(t.Context(), promtool(t), "test", "rules", file).CombinedOutput()
	return string(said), err == nil
}

// seen says when the alert was pending and when it fired above the threshold, for the author of the row.
func (tr trial) seen(t *testing.T, dir string) string {
	t.Helper()
	answer := "above the threshold the alert"
	for _, state := range []string{"pending", "firing"} {
		answer += " is " + state + " from " + tr.moment(t, dir, state, "min") + " to " + tr.moment(t, dir, state, "max")
	}
	return answer
}

// moment returns the first or the last moment, "min" or "max", at which the alert was in a state.
func (tr trial) moment(t *testing.T, dir, state, which string) string {
	t.Helper()
	above := tr.above(t)
	end := above.Exprs[len(above.Exprs)-1].At
	expr := fmt.Sprintf("%[1]s(%[1]s_over_time(timestamp(%[2]s)[%[3]s:%[4]s]))",
		which, tr.selector(fmt.Sprintf("alertstate=%q", state)), end, tr.every)
	above.Exprs = []exprTest{{Expr: expr, At: end}} // fails with what it got
	above.Alerts = nil
	output, _ := tr.run(t, dir, above)
	got := regexp.MustCompile(`got: \{\} (\S+)`).FindStringSubmatch(output)
	if got == nil {
		return "never"
	}
	seconds, err := strconv.ParseFloat(got[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Duration(seconds * float64(time.Second)).String()
	if at == end { // nobody knows how long it goes on
		return at + ", where the test ends"
	}
	return at
}

func writeYAML(t *testing.T, path string, value any) {
	t.Helper()
	content, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(path, content, 0o600)
	if err != nil {
		t.Fatal(err)
	}
}

// promtool returns the path of promtool.
func promtool(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PROMTOOL_BINARY")
	if path == "" {
		t.Fatal("PROMTOOL_BINARY is not set: make rules builds promtool and sets it")
	}
	return path
}
