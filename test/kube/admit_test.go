package kube_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Levels of Pod Security: what is ours keeps the first, of others we ask nothing.
const restricted, anything = "restricted", "privileged"

// deployedIsAdmitted holds that the API server admits each value set of the chart, a chart of somebody else
// that has the sidecar from ours, the Kustomize base, each example that uses the component beside a server that
// is not ours, and the manifests in the documentation, which are pasted as they are.
func deployedIsAdmitted(t *testing.T, c *cluster) {
	admits := func(path, manifests, level string) {
		t.Run(filepath.Base(path), func(t *testing.T) { admitted(t, c, manifests, level) })
	}
	for _, path := range inputs(t, "../../deploy/helm/prober/ci/*-values.yaml") {
		admits(path, c.helm(t, "template", "prober", chart, "--namespace", "rendered", "--values", path), restricted)
	}
	admits("consumer", c.helm(t, "template", "server", consumer(t)), anything)
	const folder = "../../deploy/kustomize/"
	admits("base", c.kubectl(t, "", "kustomize", folder+"base"), restricted)
	for _, path := range inputs(t, folder+"examples/*") {
		admits(path, c.kubectl(t, "", "kustomize", path), anything)
	}
	found := 0
	for _, page := range slices.Concat(inputs(t, "../../docs/*.md"), inputs(t, "../../docs/integrations/*.md")) {
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(read(t, page), -1) {
			if len(documents(t, block[1])) > 0 {
				found++
				admits(page, block[1], anything)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d manifests found: the test does not see them", found)
	}
}

// consumer returns the path of a chart of somebody else, which has ours below it.
func consumer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("../chart/testdata/consumer")))
	must(t, os.CopyFS(filepath.Join(dir, "charts/prober"), os.DirFS(chart)))
	return dir
}

// admitted sends manifests to the API server, which must take them without a
// warning. Their namespaces are made, with a level of Pod Security below which it
// warns, and their accounts. Kinds that are not served are left out, and named.
func admitted(t *testing.T, c *cluster, manifests, level string) {
	t.Helper()
	var ahead, send strings.Builder
	sent := 0
	for _, d := range documents(t, manifests) {
		if why, ok := notServed[d.object.APIVersion+"/"+d.object.Kind]; ok {
			t.Logf("not sent: %s %s: %s", d.object.Kind, d.object.Metadata.Name, why)
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
	c.kubectl(t, ahead.String(), "apply", "-f", "-")
	out := c.kubectl(t, send.String(),
		"apply", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-")
	if got := strings.Count(out, "(server dry run)"); got != sent {
		t.Errorf("%d of %d objects were taken:\n%s", got, sent, out)
	}
}

// namespaceOf is the manifest of an object's namespace.
func namespaceOf(o object, level string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: %q, labels: {pod-security.kubernetes.io/warn: %s}}
`, cmp.Or(o.Metadata.Namespace, "default"), level)
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

// documents splits manifests; what is no object is left out.
func documents(t *testing.T, manifests string) (all []document) {
	t.Helper()
	for decoder := yaml.NewDecoder(strings.NewReader(manifests)); ; {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, manifests)
		}
		var d document
		notMapping := node.Decode(&d.object)
		if notMapping != nil || d.object.Kind == "" {
			continue
		}
		text, err := yaml.Marshal(&node)
		must(t, err)
		d.text = string(text)
		all = append(all, d)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}
