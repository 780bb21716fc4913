// Package kube_test runs what we deploy in a real Kubernetes with real Helm: the
// chart, the Kustomize files, and manifests with an injected sidecar.
package kube_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/llm-prober/prober/test/cluster"
)

// kubernetes starts the cluster that all tests share, with the CRDs of KUBE_CRDS
// and our own testdata/neighbours.yaml.
var kubernetes = sync.OnceValues(func() (*cluster.Cluster, error) {
	crds := os.Getenv("KUBE_CRDS")
	if crds == "" {
		return nil, fmt.Errorf("KUBE_CRDS is not set: run make kube")
	}
	c, err := cluster.Start()
	if err != nil {
		return nil, err
	}
	if _, err = c.Run("kubectl", "", "create", "-f", crds, "-f", "testdata/neighbours.yaml"); err == nil {
		_, err = c.Run("kubectl", "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	}
	return c, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if c, err := kubernetes(); c != nil {
		if code != 0 || err != nil {
			fmt.Fprintln(os.Stderr, c.Logs())
		}
		c.Stop()
	}
	os.Exit(code)
}

// running returns the cluster.
func running(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// namespace makes a namespace where restricted Pod Security is enforced, and
// warned of. It is deleted at the end of the test.
func namespace(t *testing.T, c *cluster.Cluster, name string) string {
	t.Helper()
	c.Kubectl(t, "", "create", "namespace", name)
	t.Cleanup(func() { c.Kubectl(t, "", "delete", "namespace", name, "--wait=false") })
	c.Kubectl(t, "", "label", "namespace", name,
		"pod-security.kubernetes.io/enforce=restricted", "pod-security.kubernetes.io/warn=restricted")
	c.Kubectl(t, "", "--namespace", name, "wait", "--for=create", "--timeout=60s", "serviceaccount/default", "configmap/kube-root-ca.crt")
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
	Spec struct {
		Template json.RawMessage `json:"template" yaml:"-"`
	} `json:"spec" yaml:"-"`
}

func (o object) String() string { return o.Kind + "/" + o.Metadata.Name }

// list returns the objects that kubectl get finds in a namespace.
func list(t *testing.T, c *cluster.Cluster, namespace string, args ...string) []object {
	t.Helper()
	args = append([]string{"--namespace", namespace, "get", "--output", "json", "--ignore-not-found"}, args...)
	out := c.Kubectl(t, "", args...)
	if strings.TrimSpace(out) == "" {
		return nil
	}
	var found struct {
		Items []object `json:"items"`
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatal(err)
	}
	return found.Items
}

// everything returns the names of all objects of all kinds in a namespace, and of
// those in none, but for records of what happened, and what the cluster makes by itself.
func everything(t *testing.T, c *cluster.Cluster, namespace string) (names []string) {
	t.Helper()
	for _, scope := range []string{"true", "false"} {
		kinds := strings.Fields(c.Kubectl(t, "", "api-resources", "--verbs=list", "--namespaced="+scope, "--output=name"))
		kinds = slices.DeleteFunc(kinds, func(kind string) bool {
			return slices.Contains([]string{"events", "events.events.k8s.io", "componentstatuses", "namespaces"}, kind)
		})
		out := c.Kubectl(t, "", "--namespace", namespace, "get", strings.Join(kinds, ","), "--output=name", "--ignore-not-found")
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
