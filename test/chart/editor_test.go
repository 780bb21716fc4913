package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

// TestTargetsSchema holds that the JSON Schema of the targets file, as editors read it, takes the examples and refuses
// misspelt keys and wrong values. The validator is Helm's, whose values are the targets file here.
func TestTargetsSchema(t *testing.T) {
	schema, err := os.ReadFile("../../docs/targets.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../internal/config/testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	printed, _ := program.Launch(t, "PROBER_BINARY", nil, "config", "example").Output(t)
	dir := t.TempDir()
	files := map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: x\nversion: 1.0.0\n",
		"values.schema.json": string(schema),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const target = "targets:\n- url: http://a:1\n"
	composed, err := os.ReadFile("../../deploy/compose/targets/targets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		string(example): "", printed: "", string(composed): "",
		target + "  backoff_limit: none\n  priority: -1\n  http_version: 1.1\n  insecure_skip_verify: on\n": "",
		target + "  modle: m\n":              "modle",
		"qsp: 1\n" + target:                  "qsp",
		"qps: 0\n" + target:                  "qps",
		"timeout: 60\n" + target:             "timeout",
		"prompt: warn\n" + target:            "prompt",
		"targets:\n- name: a\n":              "url",
		target + "objectives:\n- goal: 99\n": "goal",
	} {
		_, err := helm(t, "template", "x", dir, "-f", values(t, text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want a problem with %q in\n%s", err, want, text)
		}
	}
}
