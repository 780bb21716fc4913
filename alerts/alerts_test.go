package alerts

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/dashboards"
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

// groups are the rules as Prometheus reads them.
func groups(t *testing.T) []group {
	t.Helper()
	var file struct{ Groups []group }
	if err := yaml.Unmarshal(Rules(), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups
}

// split are the alerting rules and the recording rules.
func split(t *testing.T) (alerting, recording []rule) {
	t.Helper()
	for _, g := range groups(t) {
		for _, r := range g.Rules {
			if r.Alert != "" {
				alerting = append(alerting, r)
			} else {
				recording = append(recording, r)
			}
		}
	}
	if len(alerting) < 10 || len(recording) < 10 {
		t.Fatalf("%d alerts and %d records: the test does not see them", len(alerting), len(recording))
	}
	return alerting, recording
}

// TestAnnotationsAndLabels holds what every alert tells whom it wakes, and that
// no number is a label: each value would be another alert.
func TestAnnotationsAndLabels(t *testing.T) {
	var uids []string
	for _, b := range dashboards.All() {
		uids = append(uids, b.UID)
	}
	dashboard := regexp.MustCompile(`^/d/(` + strings.Join(uids, "|") + `)(\?.*)?$`)
	alerting, _ := split(t)
	for _, r := range alerting {
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		for name, value := range r.Labels {
			if strings.Contains(strings.ToLower(value), "value") {
				t.Errorf("%s: label %s holds a value: %s", r.Alert, name, value)
			}
		}
		if summary := r.Annotations["summary"]; summary == "" || strings.Contains(summary, "{{") {
			t.Errorf("%s: summary %q, want words that are always the same", r.Alert, summary)
		}
		if description := r.Annotations["description"]; !strings.Contains(description, "{{") {
			t.Errorf("%s: description %q, want one that says who and how much", r.Alert, description)
		}
		if url, want := r.Annotations["runbook_url"], "https://github.com/llm-prober/prober/blob/main/alerts/"+RunbookFile(r.Alert); url != want {
			t.Errorf("%s: runbook_url %q, want %q", r.Alert, url, want)
		}
		if url := r.Annotations["dashboard_url"]; !dashboard.MatchString(url) {
			t.Errorf("%s: dashboard_url %q leads to no dashboard", r.Alert, url)
		}
	}
}

var (
	quoted    = regexp.MustCompile("\"[^\"]*\"|'[^']*'|`[^`]*`")
	selectors = regexp.MustCompile(`\{[^}]*\}`)
)

// TestExpressions holds what an expression needs beside being PromQL, which
// promtool judges: an alert compares with something, or it would fire always, and
// one that looks for what is not there waits first, or each restart would wake somebody.
func TestExpressions(t *testing.T) {
	comparison := regexp.MustCompile(`[=!<>]=|[<>]`)
	alerting, _ := split(t)
	for _, r := range alerting {
		if bare := selectors.ReplaceAllString(quoted.ReplaceAllString(r.Expr, ""), ""); !comparison.MatchString(bare) {
			t.Errorf("%s compares nothing: %s", r.Alert, r.Expr)
		}
		if strings.Contains(r.Expr, "absent") && r.For == "" {
			t.Errorf("%s looks for what is absent, and has no for", r.Alert)
		}
	}
}

// TestRecordNames holds the names of records to level:metric:operation.
func TestRecordNames(t *testing.T) {
	name := regexp.MustCompile(`^(target|group):llm_probe_[a-z0-9_]+:[a-z0-9_]+$`)
	_, recording := split(t)
	for _, r := range recording {
		if !name.MatchString(r.Record) {
			t.Errorf("record %q, want level:metric:operation", r.Record)
		}
	}
}

// TestNoTargetIsNamed holds that the rules are the same for everybody.
func TestNoTargetIsNamed(t *testing.T) {
	literal := regexp.MustCompile(`\b(target|model|prompt|group|job|instance|objective)\s*(=~|!~|!=|=)\s*\\?["'][^"']*["']`)
	if found := literal.FindAll(Rules(), -1); found != nil {
		t.Errorf("the rules name somebody: %q", found)
	}
}

// TestIntervals holds groups below Prometheus' lookback of five minutes, with
// room for a late evaluation: a rule that reads another group's record would find nothing.
func TestIntervals(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range groups(t) {
		d, err := time.ParseDuration(g.Interval)
		if err != nil || d < 15*time.Second || d > 2*time.Minute {
			t.Errorf("group %s: interval %q, want 15s to 2m", g.Name, g.Interval)
		}
		if seen[g.Name] {
			t.Errorf("group %s is there twice", g.Name)
		}
		seen[g.Name] = true
	}
}

// TestEveryAlertHasARunbook holds that each alert has its page, and each page its
// alert and its headings.
func TestEveryAlertHasARunbook(t *testing.T) {
	wanted := map[string]bool{}
	alerting, _ := split(t)
	for _, r := range alerting {
		wanted[r.Alert] = true
		if _, ok := Runbook(r.Alert); !ok {
			t.Errorf("%s has no runbook", r.Alert)
		}
	}
	for _, name := range Runbooks() {
		if !wanted[name] {
			t.Errorf("runbook %s belongs to no alert", name)
		}
		page, ok := Runbook(name)
		if !ok {
			t.Fatalf("runbook %s is named and not there", name)
		}
		want := []string{"# " + name, "## Meaning", "## Impact", "## Diagnosis", "## Mitigation"}
		if diff := cmp.Diff(want, headings(string(page))); diff != "" {
			t.Errorf("headings of %s (-want +got)\n%s", name, diff)
		}
		if !strings.Contains(string(page), "amtool silence add alertname=") {
			t.Errorf("runbook %s does not say how to silence it", name)
		}
	}
}

// headings are the headings of a page in Markdown, outside of its code.
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

// TestRunbookOfNoAlert holds that names are names and no paths.
func TestRunbookOfNoAlert(t *testing.T) {
	for _, name := range []string{"", "ProberNonsense", "../rules", "../runbooks/ProberAbsent", "/ProberAbsent"} {
		if page, ok := Runbook(name); ok {
			t.Errorf("runbook %q: %d bytes", name, len(page))
		}
	}
}

// TestPrometheusRule holds that the resource says what the rule file says, and
// neither comments nor references.
func TestPrometheusRule(t *testing.T) {
	data, err := PrometheusRule()
	if err != nil {
		t.Fatal(err)
	}
	var resource struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   map[string]any
		Spec       any
	}
	if err := yaml.Unmarshal(data, &resource); err != nil {
		t.Fatal(err)
	}
	if resource.APIVersion != "monitoring.coreos.com/v1" || resource.Kind != "PrometheusRule" || resource.Metadata["name"] != "prober" {
		t.Errorf("%s %s %v", resource.APIVersion, resource.Kind, resource.Metadata)
	}
	var rules any
	if err := yaml.Unmarshal(Rules(), &rules); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rules, resource.Spec); diff != "" {
		t.Errorf("the resource does not say what the rules say (-rules +resource)\n%s", diff)
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	if odd := adorned(&tree); odd != "" {
		t.Errorf("the resource holds %s", odd)
	}
}

// adorned is the first comment, anchor or alias below n; empty if there is none.
func adorned(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.HeadComment+n.LineComment+n.FootComment != "" {
		return n.Value + n.Anchor + n.HeadComment + n.LineComment + n.FootComment
	}
	for _, child := range n.Content {
		if odd := adorned(child); odd != "" {
			return odd
		}
	}
	return ""
}
