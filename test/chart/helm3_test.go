package chart_test

import (
	"maps"
	"os"
	"path"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/google/go-cmp/cmp"
)

// TestHelm3 holds that Helm 3 makes the same objects as Helm 4, which all other tests run.
func TestHelm3(t *testing.T) {
	t.Parallel()
	loaded, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range sets(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		given, err := chartutil.ReadValues(text)
		if err != nil {
			t.Fatal(err)
		}
		options := chartutil.ReleaseOptions{Name: "prober", Namespace: "observability", Revision: 1, IsInstall: true}
		rendered, err := chartutil.ToRenderValues(loaded, given, options, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		files, err := engine.Render(loaded, rendered)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var old []object
		for _, file := range slices.Sorted(maps.Keys(files)) {
			if path.Ext(file) == ".yaml" {
				old = append(old, objects(t, files[file])...)
			}
		}
		if diff := cmp.Diff(byName(objects(t, render(t, "--values", file))), byName(old)); diff != "" {
			t.Errorf("%s: -Helm 4 +Helm 3\n%s", name, diff)
		}
	}
}

// byName are objects by their kind and name.
func byName(all []object) map[string]object {
	named := map[string]object{}
	for _, o := range all {
		kind, _ := o["kind"].(string)
		name, _ := at(o, "metadata", "name").(string)
		named[kind+" "+name] = o
	}
	return named
}
