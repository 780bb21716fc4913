package inject

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// FuzzStream holds for any input that what comes out is taken again and is then
// unchanged, and that all of it says what it said but for the sidecar.
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
		if joined := join(split(in)); !bytes.Equal(joined, in) {
			t.Fatalf("%q became %q", in, joined)
		}
		once, err := Stream(in, options)
		if err != nil {
			return
		}
		kept(t, split(in), split(once.Manifests))
		meant(t, split(in), split(once.Manifests))
		twice, err := Stream(once.Manifests, options)
		if err != nil || !bytes.Equal(once.Manifests, twice.Manifests) {
			t.Fatalf("%v\n%s", err, cmp.Diff(string(once.Manifests), string(twice.Manifests)))
		}
	})
}

// kept holds that documents without pods are what they were.
func kept(t *testing.T, before, after []document) {
	t.Helper()
	if len(before) != len(after) {
		t.Fatalf("%d documents became %d", len(before), len(after))
	}
	for i, d := range before {
		tree, err := parse(d.text)
		if err != nil || len(tree.Content) == 0 {
			continue
		}
		if pods, _ := podsOf(tree.Content[0]); len(pods) == 0 && !bytes.Equal(after[i].text, d.text) {
			t.Fatalf("%q became %q", d.text, after[i].text)
		}
	}
}

// meant holds that documents without their sidecars say what they said, aliases
// and merge keys followed.
func meant(t *testing.T, before, after []document) {
	t.Helper()
	for i, d := range before {
		var was, is any
		if yaml.Unmarshal(d.text, &was) != nil {
			continue // what another document says is no matter
		}
		if err := yaml.Unmarshal(after[i].text, &is); err != nil {
			t.Fatalf("%v:\n%s", err, after[i].text)
		}
		if diff := cmp.Diff(bare(was), bare(is), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("something else changed: %s", diff)
		}
	}
}

// bare is what a document says without sidecars, and without lists of init
// containers that hold nothing else.
func bare(said any) any {
	switch said := said.(type) {
	case []any:
		for i := range said {
			said[i] = bare(said[i])
		}
	case map[string]any:
		keyed := map[any]any{} // as one with a key that is no text is
		for key, v := range said {
			keyed[key] = v
		}
		return bare(keyed)
	case map[any]any:
		list, _ := said["initContainers"].([]any)
		list = slices.DeleteFunc(slices.Clone(list), func(one any) bool {
			c, _ := one.(map[string]any)
			return c["name"] == sidecarName
		})
		if said["initContainers"] = list; len(list) == 0 {
			delete(said, "initContainers")
		}
		for key := range said {
			said[key] = bare(said[key])
		}
	}
	return said
}

func join(docs []document) []byte {
	var all []byte
	for _, d := range docs {
		all = append(append(all, d.marker...), d.text...)
	}
	return all
}
