package deploy_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// TestDocumentedSidecarIsTheComponents holds that the block to paste in docs/sidecar.md is the sidecar of the Kustomize
// component, with the chart's version and resources. The component reads the port and the workload's name from
// annotations, and the block has them written out.
func TestDocumentedSidecarIsTheComponents(t *testing.T) {
	var operations []struct {
		Path  string
		Value map[string]any
	}
	unmarshal(t, read(t, "kustomize/components/sidecar/sidecar.yaml"), &operations)
	component := operations[len(operations)-1]
	if component.Path != "/spec/template/spec/initContainers/-" {
		t.Errorf("%s: the sidecar is not the last of the init containers", component.Path)
	}
	env, _ := component.Value["env"].([]any)
	component.Value["env"] = env[2:] // without PORT and WORKLOAD

	block := regexp.MustCompile("(?s)```yaml\n(- name: prober\n.*?)```").FindSubmatch(read(t, "../docs/sidecar.md"))
	if block == nil {
		t.Fatal("docs/sidecar.md has no block to paste")
	}
	annotated := strings.NewReplacer("127.0.0.1:8000", "127.0.0.1:$(PORT)", "vllm-engine", "$(WORKLOAD)-engine")
	var documented []map[string]any
	unmarshal(t, []byte(annotated.Replace(string(block[1]))), &documented)
	if diff := cmp.Diff([]map[string]any{component.Value}, documented); diff != "" {
		t.Errorf("the component's sidecar and the documented one (-component +documented):\n%s", diff)
	}

	var released struct {
		Version string `yaml:"appVersion"`
	}
	unmarshal(t, read(t, chart+"/Chart.yaml"), &released)
	image := component.Value["image"]
	if image != "" && image != "ghcr.io/llm-prober/prober:"+released.Version {
		t.Errorf("the sidecar runs %s: want none before the first release, and then that of the chart", image)
	}
	if diff := cmp.Diff(any(chartLoad(t).Resources), component.Value["resources"]); diff != "" {
		t.Errorf("the chart's resources and the sidecar's (-chart +sidecar):\n%s", diff)
	}
}

// A load has the fields that are the same in the chart's values, the Kustomize base and the sidecar.
type load struct {
	Resources map[string]any
	Liveness  map[string]any `yaml:"livenessProbe"`
	Readiness map[string]any `yaml:"readinessProbe"`
}

func chartLoad(t *testing.T) (values load) {
	t.Helper()
	unmarshal(t, read(t, chart+"/values.yaml"), &values)
	return values
}

// TestBase holds that the Kustomize base has the chart's resources and probes, that its image gets a tag, and that its
// port is not named as that of sidecars: a PodMonitor for sidecars would scrape the base, too.
func TestBase(t *testing.T) {
	type container struct {
		load `yaml:",inline"`

		Image string
		Ports []struct{ Name string }
	}
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []container }
			}
		}
	}
	unmarshal(t, read(t, "kustomize/base/deployment.yaml"), &deployment)
	base := deployment.Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff(chartLoad(t), base.load); diff != "" {
		t.Errorf("the chart's container and the base's (-chart +base):\n%s", diff)
	}
	if len(base.Ports) != 1 || base.Ports[0].Name != "http" {
		t.Errorf("ports %v, want one, http", base.Ports)
	}
	if !strings.Contains(string(read(t, "kustomize/base/kustomization.yaml")), "\n- name: "+base.Image+"\n") {
		t.Errorf("the image %s has no tag", base.Image)
	}
}

// TestOnlyRunningPodsAreScraped holds that the PodMonitor of the example skips pods whose sidecar may not run yet.
func TestOnlyRunningPodsAreScraped(t *testing.T) {
	var monitor struct {
		Spec struct {
			PodMetricsEndpoints []struct {
				Relabelings []map[string]any
			} `yaml:"podMetricsEndpoints"`
		}
	}
	unmarshal(t, read(t, "kustomize/examples/vllm-sidecar/podmonitor.yaml"), &monitor)
	want := map[string]any{
		"sourceLabels": []any{"__meta_kubernetes_pod_phase"}, "regex": "Running", "action": "keep",
	}
	if diff := cmp.Diff([]map[string]any{want}, monitor.Spec.PodMetricsEndpoints[0].Relabelings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func unmarshal(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := yaml.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
