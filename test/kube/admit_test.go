package kube_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/test/cluster"
)

// Levels of Pod Security: what is ours keeps the first, of others we ask nothing.
const restricted, anything = "restricted", "privileged"

// TestValueSets renders each value set of the chart: the API server admits it.
func TestValueSets(t *testing.T) {
	c := running(t)
	for _, path := range inputs(t, chart+"/ci/*-values.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			admitted(t, c, c.Helm(t, "template", "prober", chart, "--namespace", "rendered", "--values", path), restricted)
		})
	}
}

// TestConsumer does so with a chart of somebody else that has the sidecar from ours.
func TestConsumer(t *testing.T) {
	admitted(t, running(t), read(t, "../chart/testdata/consumer.yaml"), anything)
}

// TestKustomize does so with the Kustomize base, and with each example that uses
// the component beside a server that is not ours.
func TestKustomize(t *testing.T) {
	const folder = "../../deploy/kustomize/"
	c := running(t)
	admitted(t, c, c.Kubectl(t, "", "kustomize", folder+"base"), restricted)
	for _, path := range inputs(t, folder+"examples/*") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			admitted(t, c, c.Kubectl(t, "", "kustomize", path), anything)
		})
	}
}

// admitted sends manifests to the API server, which must take them without a
// warning. Their namespaces are made, with a level of Pod Security below which it
// warns, and their accounts. Kinds that are not served are left out, and named.
func admitted(t *testing.T, c *cluster.Cluster, manifests, level string) {
	t.Helper()
	var ahead, send strings.Builder
	sent := 0
	for _, d := range documents(t, manifests) {
		if why, ok := notServed[d.object.APIVersion+"/"+d.object.Kind]; ok {
			t.Logf("not sent: %s %s: %s", d.object.APIVersion, d.object, why)
			continue
		}
		fmt.Fprintf(&ahead, "---\n%s", namespaceOf(d.object, level))
		if d.object.Kind == "ServiceAccount" {
			ahead.WriteString("---\n" + d.text)
		}
		send.WriteString("---\n" + d.text)
		sent++
	}
	if sent == 0 {
		t.Log("nothing is there to be sent")
		return
	}
	c.Kubectl(t, ahead.String(), "apply", "-f", "-")
	out := c.Kubectl(t, send.String(), "apply", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-")
	if got := strings.Count(out, "(server dry run)"); got != sent {
		t.Errorf("%d of %d objects were taken:\n%s", got, sent, out)
	}
}

// namespaceOf is the manifest of an object's namespace.
func namespaceOf(o object, level string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %q, labels: {pod-security.kubernetes.io/warn: %s}}\n",
		cmp.Or(o.Metadata.Namespace, "default"), level)
}

// notServed are kinds whose CRDs cannot be pinned, with the reason.
var notServed = map[string]string{
	"llm-d.ai/v1alpha2/InferenceObjective": "the module github.com/llm-d/llm-d-router is unavailable",
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
