package inject

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestComponentIsTheSameSidecar holds that the Kustomize component adds what inject does, but for what it can only read
// in the pod.
func TestComponentIsTheSameSidecar(t *testing.T) {
	var operations []struct {
		Op, Path string
		Value    sidecar
	}
	unmarshal(t, "../../deploy/kustomize/components/sidecar/sidecar.yaml", &operations)
	last := operations[len(operations)-1]
	if last.Op != "add" || last.Path != "/spec/template/spec/initContainers/-" {
		t.Errorf("%s %s: the sidecar is not the last of the init containers", last.Op, last.Path)
	}
	want := newSidecar(pod{}, serving{port: 8000}, Options{Image: "ghcr.io/llm-prober/prober:" + release(t)})
	want.Env[0].Value = "http://127.0.0.1:$(PORT)"
	want.Env[1].Value = "$(WORKLOAD)" + vantage
	from := func(annotation string) map[string]any {
		path := "metadata.annotations['prober.llm-prober.io/" + annotation + "']"
		return map[string]any{"fieldRef": map[string]any{"fieldPath": path}}
	}
	// Two fieldRefs, before what they are a part of: only then they are expanded.
	want.Env = append([]Env{{Name: "PORT", ValueFrom: from("port")}, {Name: "WORKLOAD", ValueFrom: from("workload")}}, want.Env...)
	if diff := cmp.Diff(want, last.Value); diff != "" {
		t.Error(diff)
	}
}

// TestBase holds that the port of the Kustomize base is not called as that of sidecars: a PodMonitor that takes all of these
// would take it too. And that its image gets a tag.
func TestBase(t *testing.T) {
	var deployment struct {
		Spec struct{ Template struct{ Spec podSpec } }
	}
	unmarshal(t, "../../deploy/kustomize/base/deployment.yaml", &deployment)
	containers := deployment.Spec.Template.Spec.Containers
	if len(containers) != 1 || len(containers[0].Ports) != 1 || containers[0].Ports[0]["name"] != "http" {
		t.Errorf("containers %+v, want one with one port, http", containers)
	}
	if base, err := os.ReadFile("../../deploy/kustomize/base/kustomization.yaml"); !strings.Contains(string(base), "\n- name: "+containers[0].Image+"\n") {
		t.Errorf("the image %s has no tag: %v", containers[0].Image, err)
	}
}

// TestOnlyRunningPodsAreScraped holds that both PodMonitors, the example's and the one that is documented, leave out pods
// whose sidecar may not have begun.
func TestOnlyRunningPodsAreScraped(t *testing.T) {
	const want = `
    relabelings:   # a pod whose first init container still downloads has no prober yet
    - sourceLabels: [__meta_kubernetes_pod_phase]
      regex: Running
      action: keep
`
	for _, path := range []string{"../../docs/sidecar.md", "../../deploy/kustomize/examples/vllm-sidecar/podmonitor.yaml"} {
		page, err := os.ReadFile(path) //nolint:gosec // a file of the repository
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s (%v) has no%s", path, err, want)
		}
	}
}

// release is the version of the image that the chart runs.
func release(t *testing.T) string {
	t.Helper()
	var chart struct {
		Version string `yaml:"appVersion"`
	}
	unmarshal(t, "../../deploy/helm/prober/Chart.yaml", &chart)
	if chart.Version == "" {
		t.Fatal("the chart has no appVersion")
	}
	return chart.Version
}

func unmarshal(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
