// Package kube_test runs what we deploy in a real Kubernetes with real Helm: the
// chart and the Kustomize files.
package kube_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

// TestKubernetes starts the cluster that all tests share, with the CRDs of KUBE_CRDS
// and our own testdata/neighbours.yaml.
func TestKubernetes(t *testing.T) {
	c := startCluster(t)
	c.kubectl(t, "", "create", "-f", program.Binary(t, "KUBE_CRDS"), "-f", "testdata/neighbours.yaml")
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	for _, test := range []struct {
		name string
		run  func(t *testing.T, c *cluster)
	}{
		{"the cluster is real", clusterIsReal},
		{"what is deployed is admitted", deployedIsAdmitted},
		{"the chart lives", chartLives},
		{"the chart changes shape", chartChangesShape},
		{"releases side by side", releasesSideBySide},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

// clusterIsReal holds what the other tests rely on: Pod Security is enforced, and unknown fields are refused.
func clusterIsReal(t *testing.T, c *cluster) {
	ns := namespace(t, c, "smoke")
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: main, image: example.invalid/plain, "
	for manifest, refusal := range map[string]string{
		pod + "securityContext: {privileged: true}}]}\n": `violates PodSecurity "restricted:latest"`,
		pod + "imagePullPolicie: Never}]}\n":             `unknown field "spec.containers[0].imagePullPolicie"`,
	} {
		out, err := c.run("kubectl", manifest, "--namespace", ns, "apply", "--dry-run=server", "--validate=strict", "-f", "-")
		if err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("admitted: %s %v, want %s", out, err, refusal)
		}
	}
}

// namespace makes a namespace where restricted Pod Security is enforced, and
// warned of. It is deleted at the end of the test.
func namespace(t *testing.T, c *cluster, name string) string {
	t.Helper()
	c.kubectl(t, "", "create", "namespace", name)
	t.Cleanup(func() { c.kubectl(t, "", "delete", "namespace", name, "--wait=false") })
	c.kubectl(t, "", "label", "namespace", name,
		"pod-security.kubernetes.io/enforce=restricted", "pod-security.kubernetes.io/warn=restricted")
	c.kubectl(t, "", "--namespace", name, "wait", "--for=create", "--timeout=60s", "serviceaccount/default", "configmap/kube-root-ca.crt")
	return name
}

// An object is what these tests look at in any Kubernetes object.
type object struct {
	APIVersion string `json:"apiVersion" yaml:"apiVersion"`
	Kind       string `json:"kind" yaml:"kind"`
	Metadata   struct {
		Name      string `json:"name" yaml:"name"`
		Namespace string `json:"namespace" yaml:"namespace"`
		UID       string `json:"uid" yaml:"-"`
		// DeletionTimestamp is empty unless the object is going.
		DeletionTimestamp string `json:"deletionTimestamp" yaml:"-"`
	} `json:"metadata" yaml:"metadata"`
	Data map[string]string `json:"data" yaml:"-"`
}

// list returns the objects that kubectl get finds in a namespace.
func list(t *testing.T, c *cluster, namespace string, args ...string) []object {
	t.Helper()
	out := c.kubectl(t, "", append([]string{"--namespace", namespace, "get", "--output", "json", "--ignore-not-found"}, args...)...)
	if strings.TrimSpace(out) == "" {
		return nil
	}
	var found struct{ Items []object }
	must(t, json.Unmarshal([]byte(out), &found))
	return found.Items
}

// everything returns the names of all objects of all kinds in a namespace, and of
// those in none, but for records of what happened, and what the cluster makes by itself.
func everything(t *testing.T, c *cluster, namespace string) (names []string) {
	t.Helper()
	for _, scope := range []string{"true", "false"} {
		kinds := strings.Fields(c.kubectl(t, "", "api-resources", "--verbs=list", "--namespaced="+scope, "--output=name"))
		kinds = slices.DeleteFunc(kinds, func(kind string) bool {
			return slices.Contains([]string{"events", "events.events.k8s.io", "componentstatuses", "namespaces"}, kind)
		})
		out := c.kubectl(t, "", "--namespace", namespace, "get", strings.Join(kinds, ","), "--output=name", "--ignore-not-found")
		names = append(names, strings.Fields(out)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// inputs returns the files that a pattern finds: there must be some.
func inputs(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s", pattern)
	}
	return paths
}
