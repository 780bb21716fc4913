// Package deploy_test holds that what is shipped for Kubernetes agrees with what
// it was made from: rules, dashboards, values and configuration.
package deploy_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write what is generated")

const chart = "helm/prober"

// TestChartHasRulesAndDashboards checks that the chart's files are links to alerts/rules.yaml and to
// each dashboard. Helm follows them, also when it packages the chart.
func TestChartHasRulesAndDashboards(t *testing.T) {
	originals := append(glob(t, "../dashboards/*.json"), "../alerts/inhibit.yaml", "../alerts/rules.yaml")
	var linked []string
	for _, link := range slices.Concat(glob(t, chart+"/files/dashboards/*"), glob(t, chart+"/files/*.yaml")) {
		original, err := os.Readlink(link)
		if err != nil {
			t.Fatal(err)
		}
		linked = append(linked, filepath.Join(filepath.Dir(link), original))
	}
	if len(originals) < 2 || !slices.Equal(linked, originals) {
		t.Errorf("the chart links to %v, want %v", linked, originals)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
