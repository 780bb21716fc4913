package inject

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/usage"
)

var update = flag.Bool("update", false, "write the golden files")

// options are those of the golden files.
var options = Options{Image: "ghcr.io/llm-prober/prober:v1.0.0"}

// inputs are the manifests in testdata, by path.
func inputs(t testing.TB) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join("testdata", "*.[jy]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.Contains(path, ".injected.") {
			continue
		}
		if found[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 8 {
		t.Fatalf("%d manifests in testdata: the test does not see them", len(found))
	}
	return found
}

// TestGolden holds what becomes of real manifests, and what is said of them.
func TestGolden(t *testing.T) {
	for path, in := range inputs(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			result, err := Stream(in, options)
			if err != nil {
				t.Fatal(err)
			}
			ext := filepath.Ext(path)
			golden(t, strings.TrimSuffix(path, ext)+".injected.yaml", string(result.Manifests))
			said := strings.Join(result.Injected, "\n") + "\n"
			for _, warning := range result.Warnings {
				said += "warning: " + warning + "\n"
			}
			golden(t, strings.TrimSuffix(path, ext)+".said.txt", said)
		})
	}
}

func golden(t *testing.T, path, is string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(is), 0o644); err != nil { //nolint:gosec // a golden file for everybody
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), is); diff != "" {
		t.Errorf("%s: run with -update if that is right\n%s", path, diff)
	}
}

// TestCommentsStay holds that each comment of a document is in what is written anew, also one with the line ends of
// Windows.
func TestCommentsStay(t *testing.T) {
	for path, in := range inputs(t) {
		out := stream(t, in, options)
		windows := stream(t, bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n")), options)
		for _, comment := range regexp.MustCompile(`(?m)(?:^|\s)(#.*)$`).FindAllSubmatch(in, -1) {
			if !bytes.Contains(out, comment[1]) || !bytes.Contains(windows, comment[1]) {
				t.Errorf("%s: lost %q", path, comment[1])
			}
		}
	}
}

// TestNewerReplaces holds that the sidecar of another version is replaced in its place: what comes out is what the
// newer one makes of the first manifests.
func TestNewerReplaces(t *testing.T) {
	newer := Options{Image: "mirror.example.com/observability/llm:v2.0.0", Env: []Env{{Name: "PROBER_QPS", Value: "0.05"}}}
	for path, in := range inputs(t) {
		want := stream(t, in, newer)
		if is := stream(t, stream(t, in, options), newer); !bytes.Equal(is, want) {
			t.Errorf("%s:\n%s", path, cmp.Diff(string(want), string(is)))
		}
	}
}

func stream(t testing.TB, in []byte, o Options) []byte {
	t.Helper()
	result, err := Stream(in, o)
	if err != nil {
		t.Fatal(err)
	}
	return result.Manifests
}

// podWith is a Pod called p with a part of its spec.
func podWith(spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n" + spec
}

// TestProblems holds what is refused.
func TestProblems(t *testing.T) {
	vllm := "  containers: [{name: v, image: vllm/vllm-openai}]\n"
	for name, c := range map[string]struct {
		in      string
		options Options
		want    string
	}{
		"nothing":      {in: "", want: `the manifests: hold no model server that is known (objects read: 0); give its pod template the annotation prober.llm-prober.io/inject: "true"`},
		"no server":    {in: "apiVersion: v1\nkind: Service\n---\nkind: ConfigMap\n", want: "(objects read: 2)"},
		"no YAML":      {in: "a: 1\n---\nb: 2\nc: [\n", want: "the document from line 3 on: cannot be read: line 4: did not find"},
		"no UTF-8":     {in: "a: \xff", want: "are not UTF-8"},
		"no pod":       {in: podWith("  containers: 7\n"), want: "line 1: Pod/p: cannot be read: unmarshal errors: line 5: cannot unmarshal !!int"},
		"annotation":   {in: strings.Replace(podWith(vllm), "{name: p}", "{name: p, annotations: {prober.llm-prober.io/inject: maybe}}", 1), want: `annotation prober.llm-prober.io/inject is "maybe"; want "true" or "false"`},
		"which":        {in: strings.Replace(podWith("  containers: [{name: a}, {name: b}]\n"), "{name: p}", `{name: p, annotations: {prober.llm-prober.io/inject: "true"}}`, 1), want: "which of its containers is the model server is not known; name it by the annotation prober.llm-prober.io/container"},
		"no port":      {in: strings.Replace(podWith("  containers: [{name: a}]\n"), "{name: p}", `{name: p, annotations: {prober.llm-prober.io/inject: "true"}}`, 1), want: "container a: its port is not known; say where it listens by the annotation prober.llm-prober.io/port"},
		"odd port":     {in: podWith("  containers: [{name: v, image: vllm, args: [--port, $(NOWHERE)]}]\n"), want: `container v: its port is "$(NOWHERE)", which is none`},
		"anchor":       {in: podWith("  containers: &c [{name: v, image: vllm}]\n") + "---\nkind: Pod\napiVersion: v1\nmetadata: {name: q}\nspec: &s\n  containers: [{name: v, image: vllm}]\nother: *s\n", want: "line 7: Pod/q: its document has aliases or merge keys"},
		"merged":       {in: "x: &x {containers: [{name: v, image: vllm}]}\nkind: Pod\napiVersion: v1\nspec:\n  <<: *x\n", want: "its document has aliases or merge keys"},
		"twice":        {in: podWith("  containers: [{name: a}]\nspec:\n" + vllm), want: `Pod/p: cannot be read: unmarshal errors: line 6: mapping key "spec" already defined at line 4`},
		"a secret":     {in: podWith("  containers: [{name: v, image: vllm, args: sk-sesame}]\n"), want: "line 5: cannot unmarshal !!str into []string"},
		"holds itself": {in: "&l\nkind: List\napiVersion: v1\nitems: [*l, *l]\n", want: "(objects read: 0)"},
		"holds items":  {in: "kind: List\napiVersion: v1\nitems: &i [{kind: List, apiVersion: v1, items: *i}]\n", want: "(objects read: 0)"},
		"port taken":   {in: podWith(vllm + "  initContainers: [{name: o, ports: [{containerPort: 9464}]}]\n"), want: "container o has port 9464, which is the prober's"},
		"own port":     {in: podWith("  containers: [{name: v, image: vllm, args: [--port, '9464']}]\n"), want: "Pod/p: container v listens on port 9464, which is the prober's"},
		"named, no server": {in: podWith(vllm) + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {containers: [{name: n, image: nginx}]}\n", options: Options{Workloads: []string{"Pod/p", "q"}},
			want: "line 7: Pod/q: container n: its port is not known"},
		"unknown name": {in: podWith(vllm), options: Options{Workloads: []string{"Pod/p", "Deployment/q"}}, want: `workload "Deployment/q": is not among the manifests`},
	} {
		result, err := Stream([]byte(c.in), c.options)
		var problems usage.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.want) || result.Manifests != nil {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}
