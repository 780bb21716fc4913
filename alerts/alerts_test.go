package alerts

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// A rule is a recording or an alerting rule.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

// A group is rules that are evaluated together.
type group struct {
	Name, Interval string
	Rules          []rule
}

// groups returns the rules as Prometheus reads them.
func groups(t *testing.T) []group {
	t.Helper()
	var file struct{ Groups []group }
	if err := yaml.Unmarshal(Options{}.Rules(), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups
}

// alerting returns the alerting rules.
func alerting(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, g := range groups(t) {
		for _, r := range g.Rules {
			if r.Alert != "" {
				all = append(all, r)
			}
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d alerts: the test does not see them", len(all))
	}
	return all
}

// TestAnnotationsAndLabels holds what each alert must say to whom it wakes. No number is a label, because each value
// would be another alert.
func TestAnnotationsAndLabels(t *testing.T) {
	names := regexp.MustCompile(`\$labels\.(target|job)\b`)
	for _, r := range alerting(t) {
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		for name, value := range r.Labels {
			if strings.Contains(strings.ToLower(value), "value") {
				t.Errorf("%s: label %s holds a value: %s", r.Alert, name, value)
			}
		}
		if summary := r.Annotations["summary"]; !names.MatchString(summary) {
			t.Errorf("%s: summary %q, want one that names the target or the prober", r.Alert, summary)
		}
		if description := r.Annotations["description"]; !strings.Contains(description, "{{") {
			t.Errorf("%s: description %q, want one that says who and how much", r.Alert, description)
		}
		want := "https://github.com/llm-prober/prober/blob/main/alerts/" + RunbookFile(r.Alert)
		if url := r.Annotations["runbook_url"]; url != want {
			t.Errorf("%s: runbook_url %q, want %q", r.Alert, url, want)
		}
		dashboard := r.Annotations["dashboard_url"]
		if !strings.HasPrefix(dashboard, "/d/prober-") {
			t.Errorf("%s: dashboard_url %q leads to no dashboard", r.Alert, dashboard)
		}
		ofTarget := strings.Contains(dashboard, "var-target") && r.Alert != "ProberCertificateExpiry"
		if ofTarget && !strings.Contains(r.Annotations["probes"], "/?target={{") {
			t.Errorf("%s: probes %q, want where its probes are", r.Alert, r.Annotations["probes"])
		}
	}
}

// TestTheModelIsNoIdentity holds that no alert has the label model. A prober that restarts does not know the model
// until it reaches the server, and another value would be another alert about the same fault.
func TestTheModelIsNoIdentity(t *testing.T) {
	for _, r := range alerting(t) {
		if strings.Contains(r.Annotations["summary"]+r.Annotations["description"], "$labels.model") {
			t.Errorf("%s: a text takes the model from the labels", r.Alert)
		}
		if strings.Contains(r.Annotations["dashboard_url"], "/d/prober-target") &&
			!strings.Contains(r.Annotations["model"], "by (model)") {
			t.Errorf("%s: annotation model %q, want the model of the target", r.Alert, r.Annotations["model"])
		}
	}
}

// TestNoRuleKnowsTheVersionOfAServer holds that no rule selects or joins by it: after an upgrade it would lose what it
// compares with.
func TestNoRuleKnowsTheVersionOfAServer(t *testing.T) {
	for _, g := range groups(t) {
		for _, r := range g.Rules {
			if strings.Contains(r.Expr, "server_version") {
				t.Errorf("%s%s uses the label server_version", r.Alert, r.Record)
			}
		}
	}
}

// TestNoTargetIsNamed holds that the rules name no target, job or objective of anybody.
func TestNoTargetIsNamed(t *testing.T) {
	literal := regexp.MustCompile(`\b(target|model|prompt|group|job|instance|objective)\s*` +
		`(=~|!~|!=|=)\s*\\?["'][^"']*["']`)
	rules := bytes.ReplaceAll(Options{}.Rules(), []byte(`model!="unknown"`), nil) // the prober's own word
	if found := literal.FindAll(rules, -1); found != nil {
		t.Errorf("the rules name somebody: %q", found)
	}
}

// TestIntervals holds that each group is evaluated well within Prometheus' lookback of five minutes. Otherwise a rule
// that reads a record of another group could find nothing.
func TestIntervals(t *testing.T) {
	for _, g := range groups(t) {
		d, err := time.ParseDuration(g.Interval)
		if err != nil || d < 15*time.Second || d > 2*time.Minute {
			t.Errorf("group %s: interval %q, want 15s to 2m", g.Name, g.Interval)
		}
	}
}

// TestEveryAlertHasARunbook holds that each alert has a runbook of its own and each runbook an alert, that all have the same
// headings, and that none is the copy of another one.
func TestEveryAlertHasARunbook(t *testing.T) {
	var alerts []string
	for _, r := range alerting(t) {
		alerts = append(alerts, r.Alert)
	}
	slices.Sort(alerts)
	if diff := cmp.Diff(slices.Compact(alerts), Runbooks()); diff != "" {
		t.Errorf("write alerts/runbooks/NAME.md for each alert (-), and remove what is no alert's (+):\n%s", diff)
	}
	alertOf := map[string]string{} // by the section Meaning
	for _, name := range Runbooks() {
		page, ok := Runbook(name)
		if !ok {
			t.Fatalf("the runbook %s cannot be read", name)
		}
		want := []string{"# " + name, "## Meaning", "## Impact", "## Diagnosis", "## Mitigation"}
		if diff := cmp.Diff(want, headings(string(page))); diff != "" {
			t.Errorf("headings of %s (-want +got)\n%s", name, diff)
		}
		silence := regexp.MustCompile(`amtool silence add alertname=~?'?([^ ']+)`).FindStringSubmatch(string(page))
		if silence == nil || !regexp.MustCompile("^("+silence[1]+")$").MatchString(name) {
			t.Errorf("runbook %s does not say how to silence the alert: amtool silence add alertname=%[1]s …", name)
		}
		_, afterHeading, _ := strings.Cut(string(page), "## Meaning")
		meaning, _, _ := strings.Cut(afterHeading, "\n## ")
		other, isCopy := alertOf[meaning]
		if isCopy {
			t.Errorf("runbook %s says under Meaning what that of %s says: write what this alert means", name, other)
		}
		alertOf[meaning] = name
	}
}

// headings returns the headings of a page in Markdown. Comments in its code are none.
func headings(page string) []string {
	var found []string
	for i, part := range strings.Split(page, "```") {
		for line := range strings.Lines(part) {
			if i%2 == 0 && strings.HasPrefix(line, "#") {
				found = append(found, strings.TrimSpace(line))
			}
		}
	}
	return found
}
