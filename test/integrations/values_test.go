package integrations_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/test/startup"
)

const chart = "../../deploy/helm/prober"

// TestValuesRender renders our chart with each snippet of values, and holds that
// the prober accepts the targets file and the environment that come out.
func TestValuesRender(t *testing.T) {
	t.Parallel()
	for _, s := range snippets(t, ourValues) {
		t.Run(s.page, func(t *testing.T) {
			t.Parallel()
			out := render(t, s.text)
			held, environ := configuration(t, out)
			if held["/etc/prober/targets/targets.yaml"] == "" {
				t.Fatalf("no targets file in\n%s", out)
			}
			if refusal := startup.Refusal(t, environ, held); refusal != "" {
				t.Errorf("%s\nof\n%s", refusal, held["/etc/prober/targets/targets.yaml"])
			}
		})
	}
}

// TestValuesOfOthersAreYAML is all that can be held of another chart's values here.
func TestValuesOfOthersAreYAML(t *testing.T) {
	t.Parallel()
	for _, s := range snippets(t, otherValues) {
		decode(t, s)
	}
}

// decode is the one document of a snippet.
func decode(t *testing.T, s snippet) object {
	t.Helper()
	var o object
	if err := yaml.Unmarshal([]byte(s.text), &o); err != nil || len(o) == 0 {
		t.Fatalf("%s: %v of\n%s", s.page, err, s.text)
	}
	return o
}

// render is what Helm makes of our chart with values, without a cluster and a home.
func render(t *testing.T, values string) string {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, "values.yaml")
	if err := os.WriteFile(path, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), startup.Binary(t, "HELM_BINARY"), "template", "prober", chart, "--namespace", "observability", "--values", path)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "KUBECONFIG=" + home + "/none",
		"HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home,
	}
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s\nof\n%s", err, failure.String(), values)
	}
	return out.String()
}

// configuration is what a rendered prober reads: files by their path in the
// container, with something in each that comes from a Secret, and variables that
// have a value.
func configuration(t *testing.T, rendered string) (held, environ map[string]string) {
	t.Helper()
	held, environ = map[string]string{}, map[string]string{}
	decoder := yaml.NewDecoder(strings.NewReader(rendered))
	for o := (object)(nil); decoder.Decode(&o) == nil; o = nil {
		if text, ok := at(o, "data", "targets.yaml").(string); ok {
			held["/etc/prober/targets/targets.yaml"] = text
		}
		pod := at(o, "spec", "template", "spec")
		for _, volume := range list(pod, "volumes") {
			for _, source := range list(volume, "projected", "sources") {
				for _, item := range list(source, "secret", "items") {
					path, _ := at(item, "path").(string)
					held["/etc/prober/credentials/"+path] = "something\n"
				}
			}
		}
		for _, container := range list(pod, "containers") {
			for _, variable := range list(container, "env") {
				name, _ := at(variable, "name").(string)
				if value, ok := at(variable, "value").(string); ok {
					environ[name] = value
				}
			}
		}
	}
	return held, environ
}

// An object is a mapping of YAML.
type object = map[string]any

// at follows keys into mappings; nil if there is nothing.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(object)
		v = m[key]
	}
	return v
}

// list is the list below keys; empty if there is none.
func list(v any, keys ...string) []any {
	l, _ := at(v, keys...).([]any)
	return l
}
