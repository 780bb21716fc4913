package inject

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
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
	`{"apiVersion":"v1","kind":"Pod","spec":{"hostname":"\ud83d\ude00\/","containers":[{"name":"v","image":"vllm"}]}}`,
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
		tree, err := parse(legible(d.text))
		if err != nil || len(tree.Content) == 0 {
			continue
		}
		if pods, _ := podsOf(tree.Content[0], nil); len(pods) == 0 && !bytes.Equal(after[i].text, d.text) {
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
		if yaml.Unmarshal(legible(d.text), &was) != nil {
			continue // what another document says is no matter
		}
		if err := yaml.Unmarshal(legible(after[i].text), &is); err != nil {
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

// TestHoweverWritten holds that manifests may be written in any of the styles that
// YAML has, mixed at random: the sidecar is in each of them, and all else is as it
// was.
func TestHoweverWritten(t *testing.T) {
	for path, in := range inputs(t) {
		for seed := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // styles are no secrets
			var written []byte
			for _, d := range split(in) {
				var tree yaml.Node
				if err := yaml.Unmarshal(d.text, &tree); err != nil || len(tree.Content) == 0 {
					continue
				}
				restyle(&tree, random, false)
				var b bytes.Buffer
				e := yaml.NewEncoder(&b)
				e.SetIndent(2 + random.IntN(4))
				if random.IntN(2) == 0 {
					e.CompactSeqIndent()
				}
				if err := e.Encode(&tree); err != nil {
					t.Fatal(err)
				}
				written = append(append(written, "---\n"...), b.Bytes()...)
			}
			if random.IntN(3) == 0 {
				written = windows(written)
			}
			once, err := Stream(written, options)
			if err != nil {
				t.Errorf("%s, seed %d: %v\n%s", path, seed, err, written)
				continue
			}
			meant(t, split(written), split(once.Manifests))
			if twice := stream(t, once.Manifests, options); !bytes.Equal(once.Manifests, twice) {
				t.Errorf("%s, seed %d: twice is not as once:\n%s", path, seed, cmp.Diff(string(once.Manifests), string(twice)))
			}
			if want := stream(t, in, options); bytes.Count(once.Manifests, []byte("DRAIN_ENDPOINT")) != bytes.Count(want, []byte("DRAIN_ENDPOINT")) {
				t.Errorf("%s, seed %d: a sidecar is missing:\n%s", path, seed, once.Manifests)
			}
		}
	}
}

// restyle writes n and what is below it in another style, and puts comments to it.
// Within a flow style there is no other, and no comment.
func restyle(n *yaml.Node, random *rand.Rand, flow bool) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if !flow && n.Kind != yaml.DocumentNode && random.IntN(8) == 0 {
		n.HeadComment = "# é: [ { - \n# containers:"
	}
	plain := []yaml.Style{0, yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle}
	switch lines := strings.Contains(n.Value, "\n"); {
	case n.Kind == yaml.ScalarNode && n.ShortTag() != "!!str": // as it is
	case n.Kind == yaml.ScalarNode && lines && flow:
		n.Style = yaml.DoubleQuotedStyle // the only one that keeps it on its line
	case n.Kind == yaml.ScalarNode && lines:
		n.Style = []yaml.Style{yaml.DoubleQuotedStyle, yaml.LiteralStyle}[random.IntN(2)] // the encoder folds to something else
	case n.Kind == yaml.ScalarNode && flow:
		n.Style = plain[random.IntN(len(plain))]
	case n.Kind == yaml.ScalarNode:
		n.Style = append(plain, yaml.LiteralStyle, yaml.FoldedStyle)[random.IntN(len(plain)+2)]
	case n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode:
		n.Style = 0
		if flow = flow || random.IntN(12) == 0; flow {
			n.Style = yaml.FlowStyle
		}
	}
	for i, below := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			below.HeadComment, below.LineComment, below.FootComment = "", "", ""
			below.Style = plain[random.IntN(len(plain))]
			continue
		}
		restyle(below, random, flow)
	}
}
