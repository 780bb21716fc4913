package telemetry

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/llm-prober/prober/internal/golden"
)

//go:embed testdata/metrics.md.tmpl
var metricsPage string

// TestMetricsPage holds that docs/metrics.md is what the catalog says now.
func TestMetricsPage(t *testing.T) {
	inScope := map[Scope][]Instrument{}
	ofTarget := map[Kind][]Instrument{}
	var histograms [][]Instrument // those of the same bounds together
	for _, i := range Catalog() {
		inScope[i.Scope] = append(inScope[i.Scope], i)
		if i.Scope == ScopeTarget {
			ofTarget[i.Kind] = append(ofTarget[i.Kind], i)
		}
		if i.Kind != Histogram || i.Scope == ScopeGenAI || i.Bounds == nil {
			continue
		}
		sameBounds := func(group []Instrument) bool { return slices.Equal(group[0].Bounds, i.Bounds) }
		n := slices.IndexFunc(histograms, sameBounds)
		if n < 0 {
			n = len(histograms)
			histograms = append(histograms, nil)
		}
		histograms[n] = append(histograms[n], i)
	}
	bounds := func(all []float64) string {
		var b strings.Builder
		for _, bound := range all {
			b.WriteString(strconv.FormatFloat(bound, 'f', -1, 64) + " ")
		}
		return strings.TrimSpace(b.String())
	}
	var page strings.Builder
	parsed := template.Must(template.New("metrics").Funcs(template.FuncMap{"bounds": bounds}).Parse(metricsPage))
	err := parsed.Execute(&page, map[string]any{
		"Histograms": ofTarget[Histogram], "Counters": ofTarget[Counter], "Gauges": ofTarget[Gauge],
		"Prober": inScope[ScopeProber], "GenAI": inScope[ScopeGenAI], "Bounds": histograms,
		"Scale": exponentialScale, "Size": nativeBuckets,
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../../docs/metrics.md", page.String())
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
