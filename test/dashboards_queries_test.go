package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// A dashboardQuery is one query of a dashboard, as it stands in the JSON.
type dashboardQuery struct {
	dashboard, panel, ref string
	expr, format          string
	instant               bool
}

func (q dashboardQuery) String() string { return q.dashboard + " / " + q.panel + " / " + q.ref }

// A dashboardPanel is what these tests look at in a panel.
type dashboardPanel struct {
	Title   string
	Targets []struct {
		RefID, Expr, Format string
		Instant             bool
	}
	Panels []dashboardPanel
}

// dashboardQueries returns all queries of all dashboards: of panels, of annotations, and the
// selectors of variables.
func dashboardQueries(t *testing.T) []dashboardQuery {
	t.Helper()
	paths, err := filepath.Glob("../dashboards/*.json")
	if err != nil || len(paths) != 4 {
		t.Fatalf("%d dashboards, %v", len(paths), err)
	}
	var all []dashboardQuery
	for _, path := range paths {
		var dashboard struct {
			Panels      []dashboardPanel
			Annotations struct{ List []struct{ Name, Expr string } }
			Templating  struct {
				List []struct{ Name, Definition string }
			}
		}
		data, err := os.ReadFile(path)
		must(t, err)
		must(t, json.Unmarshal(data, &dashboard))
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		for _, p := range dashboard.Panels {
			for _, p := range append([]dashboardPanel{p}, p.Panels...) {
				for _, q := range p.Targets {
					all = append(all, dashboardQuery{name, p.Title, q.RefID, q.Expr, q.Format, q.Instant})
				}
			}
		}
		for _, a := range dashboard.Annotations.List {
			all = append(all, dashboardQuery{name, "annotation", a.Name, a.Expr, "time_series", false})
		}
		for _, v := range dashboard.Templating.List {
			if query, ok := variableQuery(v.Definition); ok {
				all = append(all, dashboardQuery{name, "variable", v.Name, query, "time_series", true})
			}
		}
	}
	if len(all) < 100 {
		t.Fatalf("%d queries: the test does not see them", len(all))
	}
	return all
}

// variableQuery returns what a variable asks for, by label_values(selector, label) or query_result(expression). ok is
// false if it asks for nothing.
func variableQuery(definition string) (query string, ok bool) {
	inner := strings.TrimSuffix(definition, ")")
	if query, ok := strings.CutPrefix(inner, "query_result("); ok {
		return query, true
	}
	inner, ok = strings.CutPrefix(inner, "label_values(")
	i := strings.LastIndex(inner, ", ")
	if !ok || i < 0 {
		return "", false
	}
	return "group by (" + inner[i+2:] + ") (" + inner[:i] + ")", true
}

var variable = regexp.MustCompile(`\$(?:\{(\w+)[^}]*\}|(\w+))`)

// fill puts values in for variables, as Grafana does; $1 and the like are not
// variables.
func fill(expr string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(expr, func(found string) string {
		m := variable.FindStringSubmatch(found)
		if v, ok := values[m[1]+m[2]]; ok {
			return v
		}
		return found
	})
}

// everything returns the choice of variables that leaves nothing out.
func everything(window, shown string) map[string]string {
	return map[string]string{
		"job": ".*", "instance": ".*", "target": ".*", "model": ".*", "prompt": ".*", "vantage": ".*", "group": ".*",
		"a": "a", "b": "b", "min_probes": "1", "prober": "http://localhost:9464",
		"window": window, "__rate_interval": window, "__range": shown,
	}
}

// namesOf returns the metrics and the labels that there are: those of docs/metrics.md, which a test of the program
// holds to be what it exports, of the rules, and of a short list of others.
func namesOf(t *testing.T) (metrics, labels map[string]bool) {
	t.Helper()
	metrics, labels = map[string]bool{}, map[string]bool{}
	for _, name := range strings.Fields("ALERTS up scrape_samples_scraped scrape_duration_seconds " +
		"process_resident_memory_bytes process_cpu_seconds_total process_start_time_seconds") {
		metrics[name] = true
	}
	for name := range strings.FieldsSeq("__name__ job instance target model prompt vantage group objective signal " +
		"severity alertname alertstate le") {
		labels[name] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*- record: (\S+)$`).FindAllStringSubmatch(shippedRules(t), -1) {
		metrics[m[1]] = true
	}
	page, err := os.ReadFile("../docs/metrics.md")
	must(t, err)
	for line := range strings.Lines(string(page)) {
		row, ok := strings.CutPrefix(line, "| `llm_probe")
		if !ok {
			continue
		}
		// The first cell has the metric's name and, after semicolons, its labels.
		cell, _, _ := strings.Cut(row, " | ")
		name, own, _ := strings.Cut(cell, "`")
		metrics["llm_probe"+name] = true
		for _, m := range regexp.MustCompile("; `([a-z_]+)`").FindAllStringSubmatch(own, -1) {
			labels[m[1]] = true
		}
	}
	if len(metrics) < 50 || len(labels) < 20 {
		t.Fatalf("%d metrics, %d labels: the test does not see them", len(metrics), len(labels))
	}
	return metrics, labels
}

// TestDashboardsAskForWhatThereIs parses every query, and holds that there are its metrics, the labels it matches and
// those it groups by, also where another branch of it has data, and that the prober's own series are those of the chosen
// probers.
func TestDashboardsAskForWhatThereIs(t *testing.T) {
	metrics, labels := namesOf(t)
	suffix := regexp.MustCompile(`_(bucket|count|sum)$`)
	for _, q := range dashboardQueries(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(fill(q.expr, everything("30m", "1h")))
		if err != nil {
			t.Errorf("%s: %v in\n%s", q, err, q.expr)
			continue
		}
		var used []string
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			switch n := node.(type) {
			case *parser.VectorSelector:
				if n.Name != "" && !metrics[n.Name] && !metrics[suffix.ReplaceAllString(n.Name, "")] {
					t.Errorf("%s: there is no %s", q, n.Name)
				}
				matched := map[string]bool{}
				for _, m := range n.LabelMatchers {
					matched[m.Name] = true
					used = append(used, m.Name)
				}
				ofChosen := matched["job"] && matched["instance"]
				if strings.HasPrefix(n.Name, "llm_probe") && !ofChosen && q.panel != "variable" {
					t.Errorf("%s: %s is taken from all probers:\n%s", q, n.Name, q.expr)
				}
			case *parser.AggregateExpr:
				used = append(used, n.Grouping...)
				if n.Op == parser.COUNT_VALUES {
					labels[n.Param.(*parser.StringLiteral).Val] = true
				}
			case *parser.BinaryExpr:
				if n.VectorMatching != nil {
					used = append(used, n.VectorMatching.MatchingLabels...)
				}
			case *parser.Call:
				if n.Func.Name == "label_replace" {
					labels[n.Args[1].(*parser.StringLiteral).Val] = true
				}
			}
			return nil
		})
		for _, name := range used {
			if !labels[name] {
				t.Errorf("%s: no series has the label %s:\n%s", q, name, q.expr)
			}
		}
	}
}

// TestVantagesAreNotMixed holds that what is told apart by target or prompt is also told apart by vantage, and that it is
// of the chosen vantages where there is a choice. Not so alerts about a target as a whole, and rejected targets, which
// are not probed.
func TestVantagesAreNotMixed(t *testing.T) {
	for _, q := range dashboardQueries(t) {
		if q.panel == "variable" || strings.Contains(q.expr, "llm_prober_target_rejected") {
			continue
		}
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(fill(q.expr, everything("30m", "1h")))
		must(t, err)
		isApart := func(labels []string) bool {
			isAbout := slices.Contains(labels, "target") || slices.Contains(labels, "prompt")
			return !isAbout || slices.Contains(labels, "vantage")
		}
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			switch n := node.(type) {
			case *parser.VectorSelector:
				isChosen := slices.ContainsFunc(n.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "vantage" })
				if strings.HasPrefix(n.Name, "llm_probe_") && !isChosen && strings.Contains(q.expr, "$vantage") {
					t.Errorf("%s: %s is taken from all vantages:\n%s", q, n.Name, q.expr)
				}
			case *parser.AggregateExpr:
				if !n.Without && !isApart(n.Grouping) {
					t.Errorf("%s mixes vantages by (%s):\n%s", q, strings.Join(n.Grouping, ", "), q.expr)
				}
			case *parser.BinaryExpr:
				isOfAlerts := strings.Contains(n.RHS.String(), `ALERTS{`) && strings.Contains(n.RHS.String(), `prompt=""`)
				if n.VectorMatching != nil && n.VectorMatching.On && !isApart(n.VectorMatching.MatchingLabels) && !isOfAlerts {
					t.Errorf("%s mixes vantages on (%s):\n%s", q, strings.Join(n.VectorMatching.MatchingLabels, ", "), q.expr)
				}
			}
			return nil
		})
	}
}

// TestAlertsLeadToDashboards holds that the dashboard that an alert links to is there, with a variable for each choice
// that the link makes, and that the link has a time range and a window that can be chosen there.
func TestAlertsLeadToDashboards(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	must(t, yaml.Unmarshal([]byte(shippedRules(t)), &rules))
	variables := dashboardVariables(t)
	links := 0
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			if r.Alert == "" {
				continue
			}
			links++
			link := r.Annotations["dashboard_url"]
			board, choices, _ := strings.Cut(strings.TrimPrefix(link, "/d/prober-"), "?")
			choosable, ok := variables[board]
			if !ok {
				t.Errorf("%s: there is no dashboard %q: %s", r.Alert, board, link)
			}
			for _, needed := range []string{"from={{", "&to=now", "&var-window="} {
				if !strings.Contains("&"+choices, needed) {
					t.Errorf("%s: the link has no %s: %s", r.Alert, needed, link)
				}
			}
			for _, choice := range regexp.MustCompile(`[?&]var-(\w+)=(\w*)`).FindAllStringSubmatch(link, -1) {
				options, ok := choosable[choice[1]]
				if !ok || options != nil && !slices.Contains(options, choice[2]) {
					t.Errorf("%s: the dashboard has no %s %q: %s", r.Alert, choice[1], choice[2], link)
				}
			}
		}
	}
	if links < 20 {
		t.Fatalf("%d links: the test does not see them", links)
	}
}

// dashboardVariables returns the variables of each dashboard, with what can be chosen if that is a fixed list.
func dashboardVariables(t *testing.T) map[string]map[string][]string {
	t.Helper()
	all := map[string]map[string][]string{}
	for _, name := range []string{"overview", "target", "compare", "instrument"} {
		var dashboard struct {
			Templating struct {
				List []struct {
					Name, Type string
					Options    []struct{ Value string }
				}
			}
		}
		data, err := os.ReadFile("../dashboards/" + name + ".json")
		must(t, err)
		must(t, json.Unmarshal(data, &dashboard))
		all[name] = map[string][]string{}
		for _, v := range dashboard.Templating.List {
			all[name][v.Name] = nil
			for _, option := range v.Options {
				all[name][v.Name] = append(all[name][v.Name], option.Value)
			}
		}
	}
	return all
}
