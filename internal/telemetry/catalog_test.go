package telemetry

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

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
		"Histograms": ofTarget[Histogram], "Counters": ofTarget[Counter], "Gauges": gauges, "Info": gauges[info].Info,
		"Reasons": probe.Reasons(), "Prober": inScope[ScopeProber], "GenAI": inScope[ScopeGenAI],
		"Scale": exponentialScale, "Size": nativeBuckets, "Bounds": classicBounds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../../docs/metrics.md", page.String())
}

// classicBounds returns, for each list of classic bounds, the metrics that have it and the list as text.
func classicBounds() map[string][]string {
	metrics := map[string][]string{}
	for _, i := range Catalog() {
		if i.Scope != ScopeGenAI && len(i.Bounds) > 0 {
			bounds := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(i.Bounds), "[]")), ", ")
			metrics[bounds] = append(metrics[bounds], i.PrometheusName())
		}
	}
	return metrics
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

// TestLabelsOfAnInstrument holds that each name has its own value, however many labels of its own an instrument has,
// and that a target has a series from the start for each combination of their values.
func TestLabelsOfAnInstrument(t *testing.T) {
	i := Instrument{
		Scope:      ScopeTarget,
		vantage:    "eu-1",
		configured: []string{"region", "tier"},
		Labels: []Label{
			objectiveLabel(), {Name: "verdict", Values: []string{"good", "bad"}}, {Name: "day", Values: []string{"1", "2", "3"}},
			{Name: "hour", Values: []string{"am", "pm"}},
		},
		Info: []InfoLabel{externalURLLabel("http://p")},
	}
	target := fixedTarget()
	initial := i.initialLabels(target)
	if want := 2 * 2 * 3 * 2; len(initial) != want || slices.Equal(initial[0], initial[1]) {
		t.Errorf("%d series from the start, want %d different ones: %q", len(initial), want, initial)
	}
	var got []string
	values := i.labelValues(target, []string{"fast", "bad", "3", "pm"})
	for n, name := range i.labelNames() {
		got = append(got, name+"="+values[n])
	}
	const want = "target=a model=llama prompt=cold vantage=eu-1 region=eu tier= " +
		"objective=fast verdict=bad day=3 hour=pm external_url=http://p"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
