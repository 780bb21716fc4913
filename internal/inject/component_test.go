package inject

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestComponentIsTheSameSidecar holds that the Kustomize component adds what
// inject does, but for what it can only read in the pod.
func TestComponentIsTheSameSidecar(t *testing.T) {
	data, err := os.ReadFile("../../deploy/kustomize/components/sidecar/sidecar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var operations []struct {
		Op, Path string
		Value    yaml.Node
	}
	if err := yaml.Unmarshal(data, &operations); err != nil {
		t.Fatal(err)
	}
	last := operations[len(operations)-1]
	if last.Op != "add" || last.Path != "/spec/template/spec/initContainers/-" {
		t.Errorf("%s %s: the sidecar is not the last of the init containers", last.Op, last.Path)
	}
	var is sidecar
	if err := last.Value.Decode(&is); err != nil {
		t.Fatal(err)
	}
	want := newSidecar("", serving{port: 8000}, Options{Image: "ghcr.io/llm-prober/prober:latest"})
	want.Env[0].Value = "http://127.0.0.1:$(PORT)"
	want.Env[1].Value = "$(WORKLOAD)" + vantage
	// Two fieldRefs, before what they are a part of: only then they are expanded.
	want.Env = append([]envVar{{Name: "PORT", ValueFrom: &valueFrom{}}, {Name: "WORKLOAD", ValueFrom: &valueFrom{}}}, want.Env...)
	if diff := cmp.Diff(want, is); diff != "" {
		t.Error(diff)
	}
}
