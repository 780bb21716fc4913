package rules

import (
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/alerts"
)

// A group is rules that are evaluated together. A rule is as Prometheus reads it.
type group struct {
	Name     string
	Interval string
	Rules    []map[string]any
}

// render returns the rules as "prober alerts" prints them.
func render(t *testing.T, classic bool, by ...string) []group {
	t.Helper()
	var o alerts.Options
	if classic {
		o.Histograms = alerts.ClassicOnly
	}
	for _, label := range by {
		if err := o.AddBy(label); err != nil {
			t.Fatal(err)
		}
	}
	var file struct{ Groups []group }
	if err := yaml.Unmarshal(o.Rules(), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups
}

func text(rule map[string]any, key string) string {
	value, _ := rule[key].(string)
	return value
}

// staticLabels returns the labels that a rule gives its alert itself.
func staticLabels(rule map[string]any) map[string]string {
	labels := map[string]string{}
	given, _ := rule["labels"].(map[string]any)
	for name, value := range given {
		labels[name], _ = value.(string)
	}
	return labels
}

// find returns the rule of an alert with these labels, and the interval of its group.
func find(groups []group, alert string, labels map[string]string) (rule map[string]any, every time.Duration, ok bool) {
	for _, g := range groups {
		for _, r := range g.Rules {
			isThis := text(r, "alert") == alert
			for name, value := range staticLabels(r) {
				isThis = isThis && labels[name] == value
			}
			if isThis {
				every, err := time.ParseDuration(g.Interval)
				return r, every, err == nil
			}
		}
	}
	return nil, 0, false
}

// recordName matches the name of a record.
var recordName = regexp.MustCompile(`\b[a-z]+:\w+:\w+\b`)

// needed returns the rules that an alert needs: itself, the records that it reads, those that these read, and other alerts
// that the row names. A record that is a series of the row is given, and not computed. Of annotations only those that
// the row expects are left.
func needed(groups []group, alert map[string]any, r row) []group {
	given := map[string]bool{}
	for name := range r.Series {
		given[seriesName.FindStringSubmatch(name)[1]] = true
	}
	read := map[string]bool{}
	var visit func(rule map[string]any)
	visit = func(rule map[string]any) {
		texts := text(rule, "expr")
		annotations, _ := rule["annotations"].(map[string]any)
		for _, name := range []string{"summary", "description"} {
			texts += " " + text(annotations, name)
		}
		for _, name := range recordName.FindAllString(texts, -1) {
			if given[name] || read[name] {
				continue
			}
			read[name] = true
			for _, g := range groups {
				for _, other := range g.Rules {
					if text(other, "record") == name {
						visit(other)
					}
				}
			}
		}
	}
	isAlert := func(rule map[string]any) bool {
		isThis := text(rule, "alert") == text(alert, "alert") && maps.Equal(staticLabels(rule), staticLabels(alert))
		return isThis || slices.Contains(r.With, text(rule, "alert"))
	}
	for _, g := range groups {
		for _, rule := range g.Rules {
			if isAlert(rule) {
				visit(rule)
			}
		}
	}
	var left []group
	for _, g := range groups {
		var rules []map[string]any
		for _, rule := range g.Rules {
			switch {
			case isAlert(rule):
				rule = maps.Clone(rule)
				all, _ := rule["annotations"].(map[string]any)
				rule["annotations"] = map[string]any{"summary": all["summary"], "description": all["description"]}
				rules = append(rules, rule)
			case read[text(rule, "record")]:
				rules = append(rules, rule)
			}
		}
		if len(rules) > 0 {
			left = append(left, group{Name: g.Name, Interval: g.Interval, Rules: rules})
		}
	}
	return left
}

// hole matches what a template leaves where it found nothing.
var hole = regexp.MustCompile(`<no value>|NaN|Inf|<error|  | [,.;:]|^ | $|\{|\}|^$`)

// TestEveryAlertHasARow holds that each alert has a row of the table with its texts, its "for" and its keep_firing_for, if
// the rule has them, and that the texts have no holes.
func TestEveryAlertHasARow(t *testing.T) {
	groups := render(t, false)
	rowOf := map[string]row{} // by the name and the own labels of the alert
	name := func(rule map[string]any) string {
		return text(rule, "alert") + series{labels: staticLabels(rule)}.name("")
	}
	for _, r := range readRows(t) {
		rule, _, ok := find(groups, r.Alert, r.Labels)
		if !ok {
			t.Errorf("%s: no rule is an alert of this name with the labels %v", r, r.Labels)
		}
		if ok && r.hasTexts() {
			rowOf[name(rule)] = r
		}
	}
	alerting := 0
	for _, g := range groups {
		for _, rule := range g.Rules {
			if text(rule, "alert") == "" {
				continue
			}
			alerting++
			r, ok := rowOf[name(rule)]
			if !ok {
				t.Errorf("%s: no row of alerts/table has its summary", name(rule))
				continue
			}
			_, waits := rule["for"]
			_, isKept := rule["keep_firing_for"]
			if waits != (r.For != nil) {
				t.Errorf("%s: its rule has a for: %v, its row %q has one: %v", name(rule), waits, r, r.For != nil)
			}
			if isKept != (r.Keep != nil) {
				t.Errorf("%s: its rule has a keep_firing_for: %v, its row %q has one: %v", name(rule), isKept, r, r.Keep != nil)
			}
			for _, said := range []string{r.Summary, r.Description} {
				if at := hole.FindStringIndex(said); at != nil {
					t.Errorf("%s: the row %q has a text with a hole at %d: %q", name(rule), r, at[0], said)
				}
			}
		}
	}
	if alerting < 30 {
		t.Fatalf("%d alerts: the test does not see them", alerting)
	}
}
