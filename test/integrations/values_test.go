package integrations_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
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
			stderr, code := run(t, environ, held)
			if code != 1 || !strings.Contains(stderr, "listen on PROBER_LISTEN_ADDRESS") || strings.Contains(stderr, "unknown variable") {
				t.Errorf("exit code %d: %s\nof\n%s", code, stderr, held["/etc/prober/targets/targets.yaml"])
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
	cmd := exec.CommandContext(t.Context(), binary(t, "HELM_BINARY"), "template", "prober", chart, "--namespace", "observability", "--values", path)
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

// run starts the prober at an address that is nobody's: it judges its
// configuration before it listens.
func run(t *testing.T, environ, held map[string]string) (stderr string, code int) {
	t.Helper()
	root := t.TempDir()
	here := strings.NewReplacer("/etc/prober", root)
	for path, content := range held {
		path = here.Replace(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(here.Replace(content)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), binary(t, "PROBER_BINARY"), "run", "--listen-address", "192.0.2.1:9464")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range environ {
		cmd.Env = append(cmd.Env, name+"="+here.Replace(value))
	}
	var out bytes.Buffer
	cmd.Stderr = &out
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// binary is what a variable of our environment names.
func binary(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set: run make e2e", variable)
	}
	return path
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
