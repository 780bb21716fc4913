package alerts

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// shortRules has one of each place that an adaptation edits, and some that it leaves.
const shortRules = `# Rates by (target).
- record: r
  labels: {signal: itl}
  expr: |
    sum by (target, prompt) (x) / on (target) group_left (group) y
    and max without (model) (z) > ON (job) group_left () min BY (job) (w) unless on () v
- alert: A
    labels: {severity: critical}
    annotations:
      summary: >-
        on {{ $labels.target }} {{ with printf ` + "`max by (le) (x{a=\"1\",target=%q,prompt=%q}) > 0`" +
	` $labels.target .Labels.prompt | query }}
        {{ . | printf "%.1f" }}{{ end }}
      dashboard_url: &d /d/prober-target?var-target={{ $labels.target | urlquery }}
      runbook_url: https://github.com/llm-prober/prober/blob/main/alerts/runbooks/A.md
`

// TestAdapt holds which lines each addition changes, and how. All other lines stay, comments among them.
func TestAdapt(t *testing.T) {
	for _, test := range []struct {
		name string
		add  func(*Adaptation) error
		want map[string]string // lines, by the line that they replace
	}{
		{name: "nothing", add: func(*Adaptation) error { return nil }},
		{
			name: "a label",
			add:  func(a *Adaptation) error { return a.AddLabel(`team=s="$1" {{ $externalLabels.x }}<`) },
			want: map[string]string{
				`    labels: {severity: critical}`: `    labels: {severity: critical, ` +
					`team: "s=\"$1\" {{ $externalLabels.x }}<"}`,
			},
		},
		{
			name: "runbooks",
			add:  func(a *Adaptation) error { return a.SetRunbookURL("https://example.com/runbooks/") },
			want: map[string]string{
				`      runbook_url: https://github.com/llm-prober/prober/blob/main/alerts/runbooks/A.md`: `` +
					`      runbook_url: https://example.com/runbooks/A.md`,
			},
		},
		{
			name: "Grafana",
			add:  func(a *Adaptation) error { return a.SetGrafanaURL("http://grafana:3000/sub") },
			want: map[string]string{
				`      dashboard_url: &d /d/prober-target?var-target={{ $labels.target | urlquery }}`: `` +
					`      dashboard_url: &d http://grafana:3000/sub/d/prober-target?var-target={{ $labels.target | urlquery }}`,
			},
		},
		{
			name: "by one label",
			add:  func(a *Adaptation) error { return a.AddBy("team") },
			want: map[string]string{
				`# Rates by (target).`: `# Rates by (team, target).`,
				`    sum by (target, prompt) (x) / on (target) group_left (group) y`: `` +
					`    sum by (team, target, prompt) (x) / on (team, target) group_left (group) y`,
				"        on {{ $labels.target }} {{ with printf `max by (le) (x{a=\"1\",target=%q,prompt=%q}) > 0`" +
					" $labels.target .Labels.prompt | query }}": "" +
					"        on {{ $labels.target }} {{ with printf `max by (team, le) (x{a=\"1\",team=%q,target=%q,prompt=%q}) > 0`" +
					" $labels.team $labels.target .Labels.prompt | query }}",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var a Adaptation
			if err := test.add(&a); err != nil {
				t.Fatal(err)
			}
			var want strings.Builder
			for line := range strings.Lines(shortRules) {
				line = strings.TrimSuffix(line, "\n")
				if changed, ok := test.want[line]; ok {
					line = changed
				}
				want.WriteString(line + "\n")
			}
			if diff := cmp.Diff(want.String(), string(a.Rules([]byte(shortRules)))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestAdaptedRules holds that an adaptation reaches each place in the rules that are shipped: each list of labels, each
// query of an annotation, each alert. A new rule that is written in another way fails here.
func TestAdaptedRules(t *testing.T) {
	var a Adaptation
	for _, err := range []error{
		a.AddBy("cluster"), a.AddBy("region"), a.AddLabel("team=search"),
		a.SetRunbookURL("https://example.com/runbooks"), a.SetGrafanaURL("https://example.com"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	list := regexp.MustCompile(`\b(?:by|on) ?\(([^)]+)\)`)
	query := regexp.MustCompile("printf `([^`]+)` ([^|]+) \\| query")
	for name, rules := range map[string][]byte{RulesFile: Rules(), classicFile: ClassicRules()} {
		var file struct{ Groups []group }
		if err := yaml.Unmarshal(a.Rules(rules), &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		queries := 0
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				text := r.Expr
				for _, annotation := range r.Annotations {
					text += "\n" + annotation
				}
				for _, found := range list.FindAllStringSubmatch(text, -1) {
					if !strings.HasPrefix(found[1], "cluster, region, ") {
						t.Errorf("%s: %s%s: %s lacks the labels", name, r.Record, r.Alert, found[0])
					}
				}
				asked := strings.Count(text, "| query")
				for _, found := range query.FindAllStringSubmatch(text, -1) {
					asked--
					queries++
					arguments := strings.Fields(found[2])
					if !strings.Contains(found[1], "cluster=%q,region=%q,") ||
						strings.Count(found[1], "{") != 1 || strings.Count(found[1], "%q") != len(arguments) ||
						!strings.HasPrefix(found[2], "$labels.cluster $labels.region ") {
						t.Errorf("%s: %s: the query %s is about other series too", name, r.Alert, found[0])
					}
				}
				if asked != 0 {
					t.Errorf("%s: %s: %d queries are not written as printf, format, labels", name, r.Alert, asked)
				}
				if r.Alert == "" {
					continue
				}
				links := r.Annotations["runbook_url"] + " " + r.Annotations["dashboard_url"]
				if r.Labels["team"] != "search" || r.Labels["severity"] == "" ||
					!strings.HasPrefix(links, "https://example.com/runbooks/"+r.Alert+".md https://example.com/d/prober-") {
					t.Errorf("%s: %s has the labels %v and the links %s", name, r.Alert, r.Labels, links)
				}
			}
		}
		if queries < 30 {
			t.Errorf("%s: %d queries: the test does not see them", name, queries)
		}
	}
}

// TestRefusedAdaptations holds what is refused, and that what is accepted has no error.
func TestRefusedAdaptations(t *testing.T) {
	label, by, address := (*Adaptation).AddLabel, (*Adaptation).AddBy, (*Adaptation).SetGrafanaURL
	for _, test := range []struct {
		add  func(*Adaptation, string) error
		text string
		want string // in the error; none: accepted
	}{
		{label, "team=search", ""},
		{label, "_team2=a=b, {{ $externalLabels.x }}", ""},
		{label, "team", "no value"},
		{label, "team=", "no value"},
		{label, "=search", "not a label"},
		{label, "te-am=x", "not a label"},
		{label, "__team=x", "not a label"},
		{label, "2nd=x", "not a label"},
		{label, "severity=page", "themselves"},
		{label, "target=x", "themselves"},
		{label, "basis=x", "themselves"},
		{label, "tier=gold", "given twice"},
		{label, "region=eu", "--by takes"},
		{by, "cluster", ""},
		{by, "", "not a label"},
		{by, "pod id", "not a label"},
		{by, "prompt", "themselves"},
		{by, "outcome", "themselves"},
		{by, "model", "themselves"},
		{by, "le", "themselves"},
		{by, "alertname", "themselves"},
		{by, "region", "given twice"},
		{by, "tier", "one value"},
		{address, "https://grafana.example.com/sub/", ""},
		{address, "http://[::1]:3000", ""},
		{address, "", "not a base URL"},
		{address, "grafana.example.com", "not a base URL"},
		{address, "ftp://grafana.example.com", "not a base URL"},
		{address, "https://", "not a base URL"},
		{address, "https://grafana.example.com/?orgId=1", "not a base URL"},
		{address, "https://grafana.example.com/#x", "not a base URL"},
		{address, "https://grafana example.com", "not a base URL"},
	} {
		a := Adaptation{labels: map[string]string{"tier": "silver"}, by: []string{"region"}}
		said := ""
		if err := test.add(&a, test.text); err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, test.want) || test.want == "" && said != "" {
			t.Errorf("%q is refused with %q, want %q", test.text, said, test.want)
		}
	}
}

// TestAdaptedInhibitRules holds that an alert silences those that agree in the further labels only.
func TestAdaptedInhibitRules(t *testing.T) {
	var a Adaptation
	if err := a.AddBy("cluster"); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(string(InhibitRules()), "equal: [target, prompt]", "equal: [cluster, target, prompt]")
	if diff := cmp.Diff(want, string(a.InhibitRules())); diff != "" || want == string(InhibitRules()) {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(string(InhibitRules()), string(Adaptation{}.InhibitRules())); diff != "" {
		t.Errorf("without additions: -want +got\n%s", diff)
	}
}
