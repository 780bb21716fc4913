package deploy_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestDocumentedSidecarIsTheComponents holds that the block to paste in docs/sidecar.md is the sidecar of the Kustomize
// component, but for the port and the workload's name, which the component reads from annotations, and that both run
// the chart's version.
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
	text := strings.NewReplacer("127.0.0.1:8000", "127.0.0.1:$(PORT)", "vllm-engine", "$(WORKLOAD)-engine").Replace(string(block[1]))
	var documented []map[string]any
	unmarshal(t, []byte(text), &documented)
	if diff := cmp.Diff([]map[string]any{component.Value}, documented); diff != "" {
		t.Errorf("the component's sidecar and the documented one (-component +documented):\n%s", diff)
	}

	var released struct {
		Version string `yaml:"appVersion"`
	}
	unmarshal(t, read(t, chart+"/Chart.yaml"), &released)
	if image := "ghcr.io/llm-prober/prober:" + released.Version; component.Value["image"] != image {
		t.Errorf("the sidecar runs %s, want %s", component.Value["image"], image)
	}
}

// TestBase holds that the port of the Kustomize base is not called as that of sidecars: a PodMonitor that takes all of these
// would take it too. And that its image gets a tag.
func TestBase(t *testing.T) {
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Image string
						Ports []struct{ Name string }
					}
				}
			}
		}
	}
	unmarshal(t, read(t, "kustomize/base/deployment.yaml"), &deployment)
	containers := deployment.Spec.Template.Spec.Containers
	if len(containers) != 1 || len(containers[0].Ports) != 1 || containers[0].Ports[0].Name != "http" {
		t.Fatalf("containers %+v, want one with one port, http", containers)
	}
	base := string(read(t, "kustomize/base/kustomization.yaml"))
	if !strings.Contains(base, "\n- name: "+containers[0].Image+"\n") {
		t.Errorf("the image %s has no tag", containers[0].Image)
	}
}

// TestOnlyRunningPodsAreScraped holds that the PodMonitor of the example leaves out pods whose sidecar may not have begun.
func TestOnlyRunningPodsAreScraped(t *testing.T) {
	const want = `
    relabelings:   # a pod whose first init container still downloads has no prober yet
    - sourceLabels: [__meta_kubernetes_pod_phase]
      regex: Running
      action: keep
`
	const path = "kustomize/examples/vllm-sidecar/podmonitor.yaml"
	if !strings.Contains(string(read(t, path)), want) {
		t.Errorf("%s has no%s", path, want)
	}
}

func unmarshal(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := yaml.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
