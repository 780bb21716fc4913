package alerts

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/llm-prober/prober/internal/testing/golden"
)

// TestShippedFiles holds that the files in this directory are what the template gives without options.
func TestShippedFiles(t *testing.T) {
	golden.Equal(t, RulesFile, string(Options{}.Rules()))
	golden.Equal(t, InhibitFile, string(Options{}.InhibitRules()))
}

// TestOptionsReachAllRules holds that an option reaches each place in the rules that are shipped: each list of labels, each
// query of an annotation, each alert. A new rule that is written in another way fails here.
func TestOptionsReachAllRules(t *testing.T) {
	var o Options
	for _, err := range []error{
		o.AddBy("cluster"), o.AddBy("region"), o.AddLabel("team=search"),
		o.SetRunbookURL("https://example.com/runbooks"), o.SetGrafanaURL("https://example.com"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	list := regexp.MustCompile(`\b(?:by|on) ?\(([^)]+)\)`)
	withoutBy := []string{"job, instance", "depth", "external_url", "instance", "model", "outcome", "target"} // of joins, queries
	query := regexp.MustCompile("printf `([^`]+)` ([^|]+) \\| query")
	for name, kind := range map[string]Histograms{"both": NativeAndClassic, "native": NativeOnly, "classic": ClassicOnly} {
		o.Histograms = kind
		var file struct{ Groups []group }
		err := yaml.Unmarshal(o.Rules(), &file)
		if err != nil {
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
					if !strings.HasPrefix(found[1], "cluster, region, ") && !slices.Contains(withoutBy, found[1]) {
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

// TestRefusedOptions holds what is refused, and that what is accepted has no error.
func TestRefusedOptions(t *testing.T) {
	label, by, address := (*Options).AddLabel, (*Options).AddBy, (*Options).SetGrafanaURL
	for _, test := range []struct {
		add  func(*Options, string) error
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
		{by, "vantage", "themselves"},
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
		{address, "https://user:password@grafana.example.com", "not a base URL"},
		{address, "https://grafana example.com", "not a base URL"},
	} {
		o := Options{labels: map[string]string{"tier": "silver"}, by: []string{"region"}}
		said := ""
		if err := test.add(&o, test.text); err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, test.want) || test.want == "" && said != "" {
			t.Errorf("%q is refused with %q, want %q", test.text, said, test.want)
		}
	}
}

// TestInhibitRulesWithBy holds that an alert silences those that agree in the further labels only.
func TestInhibitRulesWithBy(t *testing.T) {
	var o Options
	err := o.AddBy("cluster")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Rules []struct{ Equal []string } `yaml:"inhibit_rules"`
	}
	err = yaml.Unmarshal(o.InhibitRules(), &rules)
	if err != nil || len(rules.Rules) < 3 {
		t.Fatalf("%d inhibit rules, %v", len(rules.Rules), err)
	}
	for _, rule := range rules.Rules {
		if len(rule.Equal) < 2 || rule.Equal[0] != "cluster" || rule.Equal[1] != "target" {
			t.Errorf("equal: %v, want cluster, target and more", rule.Equal)
		}
	}
}

// TestHistograms holds which kinds of histograms the rules read.
func TestHistograms(t *testing.T) {
	native := regexp.MustCompile(`histogram_(avg|count)|(rate|increase)\(\w+_seconds\[|ProberClassicOnly`)
	classic := regexp.MustCompile(`\w+_seconds_(bucket|sum|count)\b`)
	for _, test := range []struct {
		kind            Histograms
		native, classic bool
	}{
		{NativeAndClassic, true, true},
		{NativeOnly, true, false},
		{ClassicOnly, false, true},
	} {
		rules := Options{Histograms: test.kind}.Rules()
		if native.Match(rules) != test.native || classic.Match(rules) != test.classic {
			t.Errorf("%v: native %q, classic %q", test.kind, native.Find(rules), classic.Find(rules))
		}
	}
}

// TestExpressions holds what the functions of the template give.
func TestExpressions(t *testing.T) {
	o := Options{by: []string{"cluster"}}
	for _, test := range []struct{ got, want string }{
		{o.series("outcome").String(), "(cluster, target, prompt, vantage, outcome)"},
		{o.labelsAndBy("job, instance").String(), "(cluster, job, instance)"},
		{
			o.median("x_seconds", "10m", o.labelsAndBy("target")),
			"(histogram_quantile(0.5, sum by (cluster, target) (rate(x_seconds[10m]))) > 2^-13\n        or " +
				"histogram_quantile(0.5, sum by (cluster, target, le) (rate(x_seconds_bucket[10m]))) > 0.0005)",
		},
		{
			Options{Histograms: ClassicOnly}.count("x_seconds", "1h", labelList{"target", "histogram"}),
			`(label_replace(sum by (target) (increase(x_seconds_count[1h])), "histogram", "classic", "", ""))`,
		},
		{
			Options{}.count("x_seconds", "1h", labelList{"target", "histogram"}),
			`(label_replace(histogram_count(sum by (target) (increase(x_seconds[1h]))), "histogram", "native", "", "")` +
				"\n        or on (target) " +
				`label_replace(sum by (target) (increase(x_seconds_count[1h])), "histogram", "classic", "", ""))`,
		},
		{
			Options{Histograms: NativeOnly}.average("x_seconds", "1h", labelList{"target"}),
			"(histogram_avg(sum by (target) (rate(x_seconds[1h]))))",
		},
		{
			o.query(`max(x{a="b",$series,c=$row.c}) > y{$(job)}`),
			"printf `max(x{a=\"b\",cluster=%q,target=%q,prompt=%q,vantage=%q,c=%q}) > y{cluster=%q,job=%q}` $labels.cluster " +
				"$labels.target $labels.prompt $labels.vantage .Labels.c $labels.cluster $labels.job | query",
		},
	} {
		if test.got != test.want {
			t.Errorf("%s\nwant\n%s", test.got, test.want)
		}
	}
}

// TestUsedLabels holds that the labels that cannot be added are those that the rules have.
func TestUsedLabels(t *testing.T) {
	rules := string(Options{}.Rules())
	names := regexp.MustCompile(`\b(?:by|on|without|group_left) \(([\w, ]+)\)|[{,](\w+)(?:=~|!~|!=|=)|    labels: \{(.*)\}`)
	used := map[string]bool{"alertstate": true, "day": true, "le": true, "quantile": true}
	for _, found := range names.FindAllStringSubmatch(rules, -1) {
		for name := range strings.SplitSeq(found[1]+","+found[2]+","+found[3], ",") {
			name, _, _ = strings.Cut(name, ":")
			used[strings.TrimSpace(name)] = true
		}
	}
	delete(used, "")
	for name := range used {
		if !slices.Contains(usedLabels, name) {
			t.Errorf("the rules use the label %s, and it can be added", name)
		}
	}
	if !slices.IsSorted(usedLabels) {
		t.Error("the list is not sorted")
	}
}
