// Package chart_test renders the Helm chart with the real Helm, and hands what
// comes out to the real prober. It needs HELM_BINARY and PROBER_BINARY.
package chart_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/test/program"
)

var update = flag.Bool("update", false, "write the golden files")

const chart = "../../deploy/helm/prober"

// helm runs Helm without a cluster and a home, and returns what it says.
func helm(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program.Binary(t, "HELM_BINARY"), args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "KUBECONFIG=" + home + "/none",
		"HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home,
	}
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return out.String(), errors.New(failure.String())
	}
	return out.String(), nil
}

// render is the chart as Helm renders it with arguments, as release prober in the
// namespace observability.
func render(t *testing.T, args ...string) string {
	t.Helper()
	out, err := helm(t, append([]string{"template", "prober", chart, "--namespace", "observability"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sets are the sets of values that come with the chart, by name.
func sets(t *testing.T) map[string]string {
	t.Helper()
	const suffix = "-values.yaml"
	paths, err := filepath.Glob(chart + "/ci/*" + suffix)
	if err != nil || len(paths) != 5 {
		t.Fatalf("%d sets of values, %v", len(paths), err)
	}
	named := map[string]string{}
	for _, path := range paths {
		named[strings.TrimSuffix(filepath.Base(path), suffix)] = path
	}
	return named
}

// values writes values into a file and returns its path.
func values(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An object is one of Kubernetes.
type object = map[string]any

// objects are those of a stream of YAML.
func objects(t *testing.T, text string) []object {
	t.Helper()
	var all []object
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o object
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			all = append(all, o)
		}
	}
}

// only is the one object of a kind.
func only(t *testing.T, all []object, kind string) object {
	t.Helper()
	var found []object
	for _, o := range all {
		if o["kind"] == kind {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of the kind %s", len(found), kind)
	}
	return found[0]
}

// at follows keys into mappings; nil if there is nothing.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// mappings are the elements of a list below keys.
func mappings(v any, keys ...string) []map[string]any {
	list, _ := at(v, keys...).([]any)
	var all []map[string]any
	for _, element := range list {
		m, _ := element.(map[string]any)
		all = append(all, m)
	}
	return all
}

// pod is the specification of an object's pod; ok is false if it has none.
func pod(o object) (spec map[string]any, ok bool) {
	switch o["kind"] {
	case "Pod":
		spec, ok = o["spec"].(map[string]any)
	case "Deployment", "StatefulSet":
		spec, ok = at(o, "spec", "template", "spec").(map[string]any)
	}
	return spec, ok
}
