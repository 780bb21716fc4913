// Package deploy_test holds that what is shipped for Kubernetes agrees with what
// it was made from: rules, dashboards, values and configuration.
package deploy_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write what is generated")

const chart = "helm/prober"

// TestChartHasRulesAndDashboards holds that the chart's copies are those of alerts/
// and dashboards/, byte for byte, and that it has no others.
func TestChartHasRulesAndDashboards(t *testing.T) {
	dashboards, err := filepath.Glob("../dashboards/*.json")
	if err != nil || len(dashboards) == 0 {
		t.Fatalf("%d dashboards, %v", len(dashboards), err)
	}
	want := map[string]string{chart + "/files/rules.yaml": "../alerts/rules.yaml"}
	for _, dashboard := range dashboards {
		want[chart+"/files/dashboards/"+filepath.Base(dashboard)] = dashboard
	}
	for copied, original := range want {
		same(t, copied, read(t, original))
	}
	for _, copied := range slices.Concat(glob(t, chart+"/files/*.*"), glob(t, chart+"/files/*/*")) {
		if _, ok := want[copied]; !ok {
			t.Errorf("%s is a copy of nothing", copied)
		}
	}
}

// same holds that a generated file is what it should be, or makes it so.
func same(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is out of date (%v): go test ./deploy -update", path, err)
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
