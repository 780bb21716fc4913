package test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
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

// dashboardQueries are all queries of all dashboards: of panels, of annotations, and the
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
		if err == nil {
			err = json.Unmarshal(data, &dashboard)
		}
		if err != nil {
			t.Fatal(err)
		}
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
			if selector, label, ok := labelValues(v.Definition); ok {
				all = append(all, dashboardQuery{name, "variable", v.Name, "group by (" + label + ") (" + selector + ")", "time_series", true})
			}
		}
	}
	if len(all) < 100 {
		t.Fatalf("%d queries: the test does not see them", len(all))
	}
	return all
}

// labelValues takes label_values(selector, label) apart.
func labelValues(definition string) (selector, label string, ok bool) {
	inner, ok := strings.CutPrefix(strings.TrimSuffix(definition, ")"), "label_values(")
	i := strings.LastIndex(inner, ", ")
	if !ok || i < 0 {
		return "", "", false
	}
	return inner[:i], inner[i+2:], true
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

// everything is the choice of variables that leaves nothing out.
func everything(window, shown string) map[string]string {
	return map[string]string{
		"job": ".*", "instance": ".*", "target": ".*", "model": ".*", "prompt": ".*", "group": ".*",
		"a": "a", "b": "b", "split": "instance", "min_probes": "1",
		"server_label": "job", "server_a": ".*", "server_b": ".*",
		"window": window, "__rate_interval": window, "__range": shown,
	}
}

// A family is a metric as the documentation has it.
type family struct {
	kind   string              // histogram, counter or gauge
	labels map[string][]string // the values of a closed set; nil if any
}

// catalog reads docs/metrics.md, which a test of the program holds to be what the
// program exports.
func catalog(t *testing.T) map[string]family {
	t.Helper()
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([a-z_]+)`")
	all := map[string]family{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 6 || !strings.HasPrefix(line, "| `llm_probe") {
			continue
		}
		f := family{kind: cells[2], labels: map[string][]string{"job": nil, "instance": nil}}
		name := strings.Trim(cells[0], "| `")
		if strings.HasPrefix(name, "llm_probe_") {
			for _, l := range []string{"target", "model", "prompt"} {
				f.labels[l] = nil
			}
		}
		for _, label := range strings.Split(cells[4], "; ") {
			words := quoted.FindAllStringSubmatch(label, -1)
			if len(words) == 0 {
				continue
			}
			f.labels[words[0][1]] = nil
			for _, w := range words[1:] {
				if strings.HasPrefix(label, "`"+words[0][1]+"`: ") {
					f.labels[words[0][1]] = append(f.labels[words[0][1]], w[1])
				}
			}
		}
		all[name] = f
	}
	if len(all) < 30 {
		t.Fatalf("%d metrics in docs/metrics.md: the test does not see them", len(all))
	}
	return all
}

// labelsOf are labels of any value.
func labelsOf(names string) map[string][]string {
	all := map[string][]string{}
	for _, n := range strings.Fields(names) {
		all[n] = nil
	}
	return all
}

// foreign are the metrics of others that dashboards show.
func foreign() map[string]family {
	all := map[string]family{
		"ALERTS": {"gauge", labelsOf("alertname alertstate severity target model prompt objective")},
	}
	for _, n := range []string{"up", "scrape_samples_scraped", "scrape_duration_seconds", "go_goroutines", "process_resident_memory_bytes", "process_open_fds", "process_max_fds"} {
		all[n] = family{"gauge", labelsOf("job instance")}
	}
	all["process_cpu_seconds_total"] = family{"counter", labelsOf("job instance")}
	for _, n := range []string{
		"vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds", "vllm:request_time_per_output_token_seconds",
		"vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds",
		"sglang:time_to_first_token_seconds", "sglang:inter_token_latency_seconds", "sglang:e2e_request_latency_seconds", "sglang:queue_time_seconds",
	} {
		all[n] = family{"histogram", labelsOf("model_name job instance")}
	}
	return all
}

// recorded are the series that the rules record. Which labels they have, they say
// in the first word of their names.
func recorded(t *testing.T) map[string]family {
	t.Helper()
	all := map[string]family{}
	for _, m := range regexp.MustCompile(`(?m)^\s*- record: (\S+)$`).FindAllStringSubmatch(shippedRules(t), -1) {
		names := "target model prompt objective signal"
		if strings.HasPrefix(m[1], "group:") {
			names += " group"
		}
		all[m[1]] = family{"gauge", labelsOf(names)}
	}
	return all
}

// TestDashboardsAskForWhatThereIs parses every query, and holds its metrics, the
// labels it matches and the labels it groups by against the catalog, the rules and
// a short list of others' metrics.
func TestDashboardsAskForWhatThereIs(t *testing.T) {
	known := catalog(t)
	for _, more := range []map[string]family{foreign(), recorded(t)} {
		for name, f := range more {
			known[name] = f
		}
	}
	values := everything("30m", "1h")
	for _, label := range []string{"instance", "job"} {
		values["split"], values["server_label"] = label, label
		for _, q := range dashboardQueries(t) {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(fill(q.expr, values))
			if err != nil {
				t.Errorf("%s: %v in\n%s", q, err, q.expr)
				continue
			}
			checkNames(t, q, expr, known)
		}
	}
}

// checkNames walks an expression.
func checkNames(t *testing.T, q dashboardQuery, expr parser.Expr, known map[string]family) {
	t.Helper()
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			checkSelector(t, q, n, path, known)
		case *parser.AggregateExpr:
			checkGrouping(t, q, n, n.Grouping, known)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil && n.VectorMatching.On {
				checkGrouping(t, q, n.LHS, n.VectorMatching.MatchingLabels, known)
				checkGrouping(t, q, n.RHS, n.VectorMatching.MatchingLabels, known)
			}
		}
		return nil
	})
}

// lookup finds the family of a series, by its name.
func lookup(name string, known map[string]family) (f family, suffix string, ok bool) {
	if f, ok = known[name]; ok {
		return f, "", true
	}
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if f, ok = known[strings.TrimSuffix(name, suffix)]; ok && f.kind == "histogram" && strings.HasSuffix(name, suffix) {
			return f, suffix, true
		}
	}
	return family{}, "", false
}

// nameOf is the name of the series that are selected, or the first of those that a
// matcher of names takes.
func nameOf(s *parser.VectorSelector, known map[string]family) string {
	for _, m := range s.LabelMatchers {
		if m.Name != model.MetricNameLabel {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(known)) {
			for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
				if m.Matches(name + suffix) {
					return name + suffix
				}
			}
		}
	}
	return s.Name
}

func checkSelector(t *testing.T, q dashboardQuery, s *parser.VectorSelector, path []parser.Node, known map[string]family) {
	t.Helper()
	f, suffix, ok := lookup(nameOf(s, known), known)
	if !ok {
		t.Errorf("%s: there is no %s", q, s.Name)
		return
	}
	ranged := false
	if len(path) > 0 {
		_, ranged = path[len(path)-1].(*parser.MatrixSelector)
	}
	if !ranged && (f.kind == "counter" || suffix != "" && suffix != "_bucket") {
		t.Errorf("%s: %s without a rate", q, s.Name)
	}
	for _, m := range s.LabelMatchers {
		if m.Name == model.MetricNameLabel || m.Name == model.BucketLabel && suffix == "_bucket" {
			continue
		}
		values, ok := f.labels[m.Name]
		if !ok || values != nil && !slices.ContainsFunc(values, m.Matches) {
			t.Errorf("%s: %s has no %s", q, s.Name, m)
		}
	}
}

// checkGrouping holds that all series of an expression have the labels that it is
// grouped or matched by, or are given them.
func checkGrouping(t *testing.T, q dashboardQuery, expr parser.Node, names []string, known map[string]family) {
	t.Helper()
	var given []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if call, ok := node.(*parser.Call); ok && call.Func.Name == "label_replace" {
			given = append(given, call.Args[1].(*parser.StringLiteral).Val)
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		s, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		f, suffix, _ := lookup(nameOf(s, known), known)
		for _, name := range names {
			if _, ok := f.labels[name]; !ok && !slices.Contains(given, name) && (name != model.BucketLabel || suffix != "_bucket") {
				t.Errorf("%s: %s has no label %s", q, s.Name, name)
			}
		}
		return nil
	})
}

// TestRulesLeadToDashboards holds that the dashboards that alerts link to are there, with
// the variables that the links set.
func TestRulesLeadToDashboards(t *testing.T) {
	links := regexp.MustCompile(`(?s)/d/prober-([a-z-]+).*?runbook_url`).FindAllStringSubmatch(shippedRules(t), -1)
	if len(links) == 0 {
		t.Fatal("the rules link to no dashboard")
	}
	for _, link := range links {
		dashboard, err := os.ReadFile("../dashboards/" + link[1] + ".json")
		if err != nil {
			t.Errorf("%s: %v", link[0], err)
		}
		for _, v := range regexp.MustCompile(`var-(\w+)=`).FindAllStringSubmatch(link[0], -1) {
			if !strings.Contains(string(dashboard), `"name": "`+v[1]+`"`) {
				t.Errorf("%s: the dashboard has no variable %s", link[0], v[1])
			}
		}
	}
}
