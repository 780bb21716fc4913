package telemetry

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/golden"
)

//go:embed testdata/metrics.md.tmpl
var metricsPage string

// TestMetricsPage holds that docs/metrics.md is what the catalog says now.
func TestMetricsPage(t *testing.T) {
	inScope := map[Scope][]Instrument{}
	ofTarget := map[Kind][]Instrument{}
	for _, i := range Catalog() {
		inScope[i.Scope] = append(inScope[i.Scope], i)
		if i.Scope == ScopeTarget {
			ofTarget[i.Kind] = append(ofTarget[i.Kind], i)
		}
	}
	gauges := ofTarget[Gauge]
	info := slices.IndexFunc(gauges, func(i Instrument) bool { return i.Name == "llm.probe.target_info" })
	var page strings.Builder
	parsed := template.Must(template.New("metrics").Funcs(template.FuncMap{"brief": brief}).Parse(metricsPage))
	err := parsed.Execute(&page, map[string]any{
		"Histograms": ofTarget[Histogram], "Counters": ofTarget[Counter], "Gauges": gauges, "Info": gauges[info].Labels,
		"Reasons": probe.Reasons(), "Prober": inScope[ScopeProber], "GenAI": inScope[ScopeGenAI],
		"Scale": exponentialScale, "Size": nativeBuckets,
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../../docs/metrics.md", page.String())
}

// brief returns the first sentence of a help text up to a colon, without the unit, which is in the metric's name. Other
// pages explain the rest.
func brief(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	first, _, _ = strings.Cut(first, ": ")
	return strings.TrimSuffix(strings.Replace(first, " in seconds", "", 1), ".")
}

// TestCatalogIsWellFormed holds that help is plain sentences on one line, and that the name on /metrics can be made of
// the unit.
func TestCatalogIsWellFormed(t *testing.T) {
	for _, i := range Catalog() {
		if !strings.HasSuffix(i.Help, ".") || strings.ContainsAny(i.Help, "\n;") {
			t.Errorf("%s: help is not plain sentences on one line: %q", i.Name, i.Help)
		}
		if !slices.Contains([]string{"s", "1", ""}, i.Unit) && !strings.HasPrefix(i.Unit, "{") {
			t.Errorf("%s: the translation does not know unit %q", i.Name, i.Unit)
		}
	}
}
