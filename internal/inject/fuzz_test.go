package inject

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// odd are manifests in which YAML says things in ways that are seldom seen.
var odd = []string{
	"&l\nkind: List\napiVersion: v1\nitems: [*l]\n",
	podWith("  <<: {initContainers: [{name: d, image: i}]}\n  containers: [{name: v, image: vllm}]\n"),
	"x: &x {hostNetwork: true}\n" + podWith("  <<: *x\n  containers: [{name: v, image: vllm}]\n"),
	podWith("  ? containers\n  : - {name: v, image: vllm}\n"),
	podWith("  \"containers\": !!seq\n  - &v {name: v, image: vllm}\n  - {<<: *v, name: w}\n"),
	podWith("  initContainers: &i [{name: d}]\n  containers: [{name: v, image: vllm, env: *i}]\n"),
	podWith("  initContainers: ~ # none\n  containers:\n  - name: v\n    image: vllm\n    args: [\"--port\n  9\"]\n"),
	podWith("  initContainers:\n  - name: d\n    args: [>-\n      a\n      b]\n    command: |+\n      x\n\n\n  containers: [{name: v, image: vllm}]\n"),
	podWith("  initContainers:\n  - name: d\n    args: [\n    x\n  ]\n    resources: { # none\n}\n  containers: [{name: v, image: vllm}]\n"),
	`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"true","b":"1"}},"spec":{"hostname":"a\nb","containers":[{"name":"v","image":"vllm"}]}}`,
	"%YAML 1.1\n%TAG ! tag:yaml.org,2002:\n---\n" + podWith("  containers: !seq [{name: v, image: vllm}]\n") + "...\n# end\n",
}

// FuzzStream holds for any input that what comes out is taken again and is then unchanged, that documents without pods
// are what they were, and that the others say what they said but for the sidecar.
func FuzzStream(f *testing.F) {
	for _, in := range inputs(f) {
		f.Add(in)
		for _, d := range split(in) {
			f.Add(d.text)
		}
	}
	for _, in := range odd {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := Stream(in, options)
		if err != nil {
			return
		}
		before, after := split(in), split(once.Manifests)
		if len(before) != len(after) {
			t.Fatalf("%d documents became %d", len(before), len(after))
		}
		for i, d := range before {
			if !bytes.Equal(d.marker, after[i].marker) {
				t.Fatalf("%q became %q", d.marker, after[i].marker)
			}
			if bytes.Equal(d.text, after[i].text) {
				continue
			}
			was, is := content(t, d), content(t, after[i])
			if pods := new(run).pods(was); len(pods) == 0 || !same(bare(was), bare(is)) {
				t.Fatalf("something else changed: %s", cmp.Diff(string(d.text), string(after[i].text)))
			}
		}
		twice, err := Stream(once.Manifests, options)
		if err != nil || !bytes.Equal(once.Manifests, twice.Manifests) {
			t.Fatalf("%v\n%s", err, cmp.Diff(string(once.Manifests), string(twice.Manifests)))
		}
	})
}

func content(t *testing.T, d document) *yaml.Node {
	t.Helper()
	tree, err := parse(d.text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, d.text)
	}
	return tree.Content[0]
}

// bare is a node without sidecars, and without lists of init containers that hold nothing else.
func bare(n *yaml.Node) *yaml.Node {
	if list := at(n, "initContainers"); n.Kind == yaml.MappingNode {
		list.Content = slices.DeleteFunc(list.Content, func(c *yaml.Node) bool { return text(c, "name") == sidecarName })
		if i := slices.Index(n.Content, list); i > 0 && len(list.Content) == 0 {
			n.Content = slices.Delete(n.Content, i-1, i+1)
		}
	}
	for _, below := range n.Content {
		bare(below)
	}
	return n
}
