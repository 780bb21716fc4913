package kube_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/test/cluster"
)

// Levels of Pod Security: what is ours keeps the first, of others we ask nothing.
const restricted, anything = "restricted", "privileged"

// TestRenderedIsAdmitted sends what the chart's own tests expect of it to the
// API server, each golden file.
func TestRenderedIsAdmitted(t *testing.T) {
	c := running(t)
	for _, path := range inputs(t, "../chart/testdata/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) { admitted(t, c, read(t, path), restricted) })
	}
}

// TestValueSetsAreAdmitted does so with each value set of the chart as it is now.
func TestValueSetsAreAdmitted(t *testing.T) {
	c := running(t)
	for _, path := range inputs(t, chart+"/ci/*-values.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			admitted(t, c, c.Helm(t, "template", "prober", chart, "--namespace", "rendered", "--values", path), restricted)
		})
	}
}

// TestKustomizeIsAdmitted does so with the Kustomize base, and with each example
// that uses a component.
func TestKustomizeIsAdmitted(t *testing.T) {
	c := running(t)
	folders := append([]string{"../../deploy/kustomize/base"}, inputs(t, "../../deploy/kustomize/examples/*")...)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) { admitted(t, c, c.Kubectl(t, "", "kustomize", folder), restricted) })
	}
}

// admitted sends manifests to the API server, which must take them without a
// warning. Their namespaces are made with a level of Pod Security below which it
// warns. Kinds that are not served are left out, and named.
func admitted(t *testing.T, c *cluster.Cluster, manifests, level string) {
	t.Helper()
	kinds := served(t, c)
	var send bytes.Buffer
	var namespaces []string
	for _, d := range documents(t, manifests) {
		o := d.object
		if !slices.Contains(kinds, o.APIVersion+" "+o.Kind) {
			why, ok := notToBeHad[o.APIVersion+" "+o.Kind]
			if !ok {
				t.Errorf("%s %s is not served", o.APIVersion, o)
			}
			t.Logf("not sent: %s %s: %s", o.APIVersion, o, why)
			continue
		}
		namespaces = append(namespaces, cmp.Or(o.Metadata.Namespace, "default"))
		send.WriteString("---\n" + d.text)
	}
	sent := len(namespaces)
	if sent == 0 {
		t.Error("nothing is there to be sent")
		return
	}
	slices.Sort(namespaces)
	for _, ns := range slices.Compact(namespaces) {
		if _, err := c.Run("kubectl", "", "get", "namespace", ns); err != nil {
			c.Kubectl(t, "", "create", "namespace", ns)
		}
		c.Kubectl(t, "", "label", "--overwrite", "namespace", ns, "pod-security.kubernetes.io/warn="+level)
	}
	out := c.Kubectl(t, send.String(), "apply", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-")
	if got := strings.Count(out, "(server dry run)"); got != sent {
		t.Errorf("%d of %d objects were taken:\n%s", got, sent, out)
	}
}

// notToBeHad are kinds whose CRDs cannot be pinned, with the reason.
var notToBeHad = map[string]string{
	"monitoring.googleapis.com/v1 PodMonitoring": "the module github.com/GoogleCloudPlatform/prometheus-engine is not to be had",
}

// served returns all kinds that the API server knows, as "version kind".
func served(t *testing.T, c *cluster.Cluster) (kinds []string) {
	t.Helper()
	for line := range strings.Lines(c.Kubectl(t, "", "api-resources", "--no-headers")) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			t.Fatalf("api-resources: %s", line)
		}
		kinds = append(kinds, fields[len(fields)-3]+" "+fields[len(fields)-1])
	}
	return kinds
}

// A document is one of a stream of YAML.
type document struct {
	object object
	text   string
}

// documents splits manifests; empty ones are left out.
func documents(t *testing.T, manifests string) (all []document) {
	t.Helper()
	for decoder := yaml.NewDecoder(strings.NewReader(manifests)); ; {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all
		}
		var d document
		if err == nil {
			err = node.Decode(&d.object)
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, manifests)
		}
		if d.object.Kind == "" {
			continue
		}
		text, err := yaml.Marshal(&node)
		if err != nil {
			t.Fatal(err)
		}
		d.text = string(text)
		all = append(all, d)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
