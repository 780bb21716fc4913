// Package deploy_test holds that the files for Kubernetes and for releases agree with their sources: rules, dashboards,
// values, the configuration and the version.
package deploy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-prober/prober/alerts"
	"github.com/llm-prober/prober/internal/testing/golden"
)

const chart = "helm/prober"

// TestChartHasRules holds that the chart has the rules with what it replaces by its values: the label prober_by by those
// of prometheusRule.by, and two addresses. Such files are no symbolic links, because Flux leaves these out.
func TestChartHasRules(t *testing.T) {
	var options alerts.Options
	for _, err := range []error{
		options.AddBy("prober_by"),
		options.SetRunbookURL("https://runbooks.invalid"),
		options.SetGrafanaURL("https://grafana.invalid"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden.Equal(t, chart+"/files/rules.yaml", string(options.Rules()))
	golden.Equal(t, chart+"/files/inhibit.yaml", string(alerts.Options{}.InhibitRules()))
}

// TestChartHasDashboards holds that the chart has copies of the dashboards. They have no white space, because kubectl
// apply repeats an object in an annotation of at most 256 KiB.
func TestChartHasDashboards(t *testing.T) {
	paths := glob(t, "../dashboards/*.json")
	for _, path := range paths {
		var board bytes.Buffer
		err := json.Compact(&board, read(t, path))
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, chart+"/files/dashboards/"+filepath.Base(path), board.String())
	}
	if found := glob(t, chart+"/files/dashboards/*"); len(paths) < 3 || len(found) != len(paths) {
		t.Errorf("the chart has %v, want %v", found, paths)
	}
}

// TestChartHasUsedLabels holds that the chart has the list of the labels that rules use themselves, which it refuses as
// further ones.
func TestChartHasUsedLabels(t *testing.T) {
	golden.Equal(t, chart+"/files/labels.txt", strings.Join(alerts.UsedLabels(), "\n")+"\n")
}

// TestChartIsSafeByDefault holds without Helm that no pod has a token of the API server, and that what scrapes the
// prober reads native histograms, by the values and by the templates that use them.
func TestChartIsSafeByDefault(t *testing.T) {
	type monitor struct {
		ScrapeNativeHistograms bool `yaml:"scrapeNativeHistograms"`
	}
	var values struct {
		ServiceAccount struct {
			AutomountServiceAccountToken bool `yaml:"automountServiceAccountToken"`
		} `yaml:"serviceAccount"`
		ServiceMonitor monitor `yaml:"serviceMonitor"`
		PodMonitor     monitor `yaml:"podMonitor"`
	}
	unmarshal(t, read(t, chart+"/values.yaml"), &values)
	if values.ServiceAccount.AutomountServiceAccountToken {
		t.Error("a pod has a token of the API server")
	}
	if !values.ServiceMonitor.ScrapeNativeHistograms || !values.PodMonitor.ScrapeNativeHistograms {
		t.Error("a monitor reads no native histograms")
	}
	for template, want := range map[string]string{
		"_pod.tpl":            "\nautomountServiceAccountToken: {{ $values.serviceAccount.automountServiceAccountToken }}\n",
		"serviceaccount.yaml": "\nautomountServiceAccountToken: {{ .Values.serviceAccount.automountServiceAccountToken }}\n",
		"servicemonitor.yaml": `(list . "jobLabel" "scrapeNativeHistograms")`,
		"podmonitor.yaml":     `(list . "jobLabel" "scrapeNativeHistograms")`,
	} {
		if !strings.Contains(string(read(t, chart+"/templates/"+template)), want) {
			t.Errorf("%s has no %q", template, want)
		}
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
