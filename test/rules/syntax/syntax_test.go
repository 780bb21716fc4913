// Package syntax parses every PromQL expression that this repository ships: those of the rules in each variant that
// "prober alerts" prints, of the dashboards, and of the documentation. It needs Go alone and runs in "make test".
package syntax

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/alerts"
)

const repository = "../../.."

// parse expects an expression that Prometheus can parse. The place says where a person finds it.
func parse(t *testing.T, place, expr string) {
	t.Helper()
	_, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v, in\n%s", place, err, expr)
	}
}

// TestRules parses the rules and the queries of their annotations: for both kinds of histograms, for each alone, and
// with labels of an organisation.
func TestRules(t *testing.T) {
	for name, histograms := range map[string]alerts.Histograms{
		"native and classic": alerts.NativeAndClassic,
		"--native":           alerts.NativeOnly,
		"--classic":          alerts.ClassicOnly,
	} {
		t.Run(name, func(t *testing.T) {
			o := alerts.Options{Histograms: histograms}
			parseRules(t, o.Rules())
			if err := o.AddBy("cluster"); err != nil {
				t.Fatal(err)
			}
			parseRules(t, o.Rules())
		})
	}
}

// annotationQuery matches a query in an annotation. Each %q stands for a label's value in quotes.
var annotationQuery = regexp.MustCompile("printf `([^`]+)`[^|]*\\| query")

func parseRules(t *testing.T, rules []byte) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Record, Alert, Expr string
				Annotations         map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(rules, &file); err != nil {
		t.Fatal(err)
	}
	queries := 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			place := fmt.Sprintf("%s%s in group %s", rule.Alert, rule.Record, group.Name)
			parse(t, place, rule.Expr)
			for name, text := range rule.Annotations {
				for _, found := range annotationQuery.FindAllStringSubmatch(text, -1) {
					queries++
					parse(t, "annotation "+name+" of "+place, strings.ReplaceAll(found[1], "%q", `"x"`))
				}
			}
		}
	}
	if queries < 100 {
		t.Errorf("%d queries in annotations: the test does not see them", queries)
	}
}

// variable matches a variable of Grafana.
var variable = regexp.MustCompile(`\$(\w+|\{[^}]+\})`)

// TestDashboards parses each "expr" of the dashboards: of panels, of rows that are closed, of annotations.
func TestDashboards(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(repository, "dashboards", "*.json"))
	if err != nil || len(paths) != 4 {
		t.Fatalf("%d dashboards, %v", len(paths), err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard any
		if err := json.Unmarshal(content, &dashboard); err != nil {
			t.Fatal(err)
		}
		if n := parsePanels(t, filepath.Base(path), dashboard); n < 10 {
			t.Errorf("%s: %d expressions: the test does not see them", path, n)
		}
	}
}

// parsePanels parses the expressions below a value of a dashboard and returns how many there are.
func parsePanels(t *testing.T, place string, value any) (n int) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			n += parsePanels(t, place, element)
		}
	case map[string]any:
		if title, ok := value["title"].(string); ok {
			place += ": " + title
		}
		if expr, ok := value["expr"].(string); ok {
			n++
			parse(t, place, variable.ReplaceAllString(expr, "5m")) // a duration is a number, and a part of a regexp, too
		}
		for _, element := range value {
			n += parsePanels(t, place, element)
		}
	}
	return n
}

// block matches a block of PromQL in a page.
var block = regexp.MustCompile("(?ms)^ *```promql\n(.*?)^ *```")

// TestPages parses the blocks of PromQL in the documentation. An expression begins at each line that is not indented.
func TestPages(t *testing.T) {
	var pages []string
	for _, dir := range []string{"docs", "alerts", "dashboards", "deploy"} {
		err := filepath.WalkDir(filepath.Join(repository, dir), func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, path := range append(pages, filepath.Join(repository, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllStringSubmatch(string(text), -1) {
			for _, expr := range regexp.MustCompile(`(?m)^\S.*\n(?:\s+\S.*\n)*`).FindAllString(found[1], -1) {
				n++
				parse(t, path, expr)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d expressions: the test does not see them", n)
	}
}

// TestClassicRules holds that "prober alerts --classic" prints the shipped rules without the native half of each
// expression, and no function that Prometheus 2.42 does not know.
func TestClassicRules(t *testing.T) {
	shipped := expressions(t, alerts.Options{})
	delete(shipped, "ProberClassicOnly")
	delete(shipped, "ProberMixedHistograms")
	classic := expressions(t, alerts.Options{Histograms: alerts.ClassicOnly})
	nativeHalf := regexp.MustCompile(`^\(*(label_replace\()?histogram_`)
	onlyNative := regexp.MustCompile(`histogram_[^q]|(rate|increase)\(\w+_seconds\[`)
	if len(shipped) != len(classic) {
		t.Errorf("%d names of rules, want %d", len(classic), len(shipped))
	}
	for name, all := range shipped {
		for i, expr := range all {
			want := expr.String()
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				or, ok := node.(*parser.BinaryExpr)
				if !ok || or.Op != parser.LOR {
					return nil
				}
				first := or.LHS.String()
				if nativeHalf.MatchString(first) && !strings.Contains(first, "_bucket[") {
					want = strings.Replace(want, or.String(), or.RHS.String(), 1)
				}
				return nil
			})
			if len(classic[name]) != len(all) {
				t.Fatalf("%s: %d rules, want %d", name, len(classic[name]), len(all))
			}
			got := classic[name][i].String()
			if got != want || onlyNative.MatchString(got) {
				t.Errorf("%s is\n%s\nwant, without native histograms,\n%s", name, got, want)
			}
		}
	}
}

// expressions returns the expressions of rules, by the name of the alert or record.
func expressions(t *testing.T, o alerts.Options) map[string][]parser.Expr {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(o.Rules(), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string][]parser.Expr{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
			if err != nil {
				t.Fatalf("%s%s: %v", rule.Alert, rule.Record, err)
			}
			all[rule.Alert+rule.Record] = append(all[rule.Alert+rule.Record], expr)
		}
	}
	return all
}
