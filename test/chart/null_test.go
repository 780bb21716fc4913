package chart_test

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Values with whatever can be on at once; rules and dashboards by themselves, since they
// are long.
const (
	much = `
targets: [{name: a, url: "http://a"}]
shards: 2
webConfig: {existingSecret: {name: web}, certificateSecretName: tls}
podMonitor: {enabled: true}
podMonitoring: {enabled: true}
networkPolicy: {enabled: true, egress: {ports: [8000]}}
env: {PROBER_LOG_LEVEL: debug}
`
	alerts = much + "prometheusRule: {enabled: true}\n"
	panels = much + "grafanaDashboards: {enabled: true, folder: f, grafanaOperator: {enabled: true}}\n"
)

// TestNull takes each value of values.yaml away, by itself: the chart is rendered
// without it, or says in a sentence that it must be there.
func TestNull(t *testing.T) {
	t.Parallel()
	on := values(t, much)
	of := map[string]string{"prometheusRule": values(t, alerts), "grafanaDashboards": values(t, panels)}
	for _, path := range places(defaults(t), nil) {
		t.Run(strings.Join(path, "."), func(t *testing.T) {
			t.Parallel()
			renderedOrTold(t, "--values", cmp.Or(of[path[0]], on), "--values", without(t, path))
		})
	}
}

// TestNullEverywhere takes all values away at once that a set of values does not
// give: what is then missing is told, and nothing else happens.
func TestNullEverywhere(t *testing.T) {
	t.Parallel()
	none := map[string]any{}
	for key := range defaults(t) {
		none[key] = nil
	}
	data, err := json.Marshal(none)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sets(t) {
		renderedOrTold(t, "--values", values(t, string(data)), "--values", path)
	}
}

// TestNullOfAParent holds that it is the same where another chart takes values away.
func TestNullOfAParent(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"settings", "objectives", "env", "extraEnv", "targets", "networkPolicy", "tests", "webConfig", "resources"} {
		if out := consumer(t, "--set", "prober."+key+"=null"); !strings.Contains(out, "PROBER_TARGETS_0_NAME") {
			t.Errorf("without %s there is no sidecar:\n%s", key, out)
		}
	}
}

// renderedOrTold holds that Helm renders YAML in which nothing is nil, or fails
// with a sentence of ours or of the schema.
func renderedOrTold(t *testing.T, args ...string) {
	t.Helper()
	out, err := helm(t, append([]string{"template", "prober", chart}, args...)...)
	if err == nil {
		objects(t, out)
		for _, wrong := range []string{"<nil>", "<no value>", "%!"} {
			if strings.Contains(out, wrong) {
				t.Errorf("there is %s in\n%s", wrong, out)
			}
		}
		return
	}
	said := err.Error()
	if !strings.Contains(said, "prober cannot be installed with these values:") && !strings.Contains(said, "the schema(s)") ||
		strings.Contains(said, "nil pointer") || strings.Contains(said, "executing ") {
		t.Error(said)
	}
}

// defaults are what values.yaml says.
func defaults(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile(chart + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := yaml.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// places are the keys of all values below a mapping, from the top.
func places(values map[string]any, above []string) (all [][]string) {
	for key, value := range values {
		path := append(slices.Clone(above), key)
		all = append(all, path)
		if below, ok := value.(map[string]any); ok {
			all = append(all, places(below, path)...)
		}
	}
	return all
}

// without writes a file of values in which one is null.
func without(t *testing.T, path []string) string {
	t.Helper()
	var value any
	for _, key := range slices.Backward(path) {
		value = map[string]any{key: value}
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return values(t, string(data))
}
