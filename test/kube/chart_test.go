package kube_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/test/cluster"
)

const (
	chart      = "../../deploy/helm/prober"
	allValues  = "testdata/everything-values.yaml"
	twoProbers = 2 // replicas there
)

// TestChartLives takes the chart with everything switched on through its life:
// installation, a change of targets, one of the environment, rollback, helm test,
// and its end, after which nothing is left.
func TestChartLives(t *testing.T) {
	c := running(t)
	ns := namespace(t, c, "life")
	before := everything(t, c, ns)

	helm(t, c, ns, "install", "prober", chart, "--values", allValues, "--wait", "--timeout", "90s")
	available(t, c, ns)
	hasKinds(t, c, ns)
	podIsRestricted(t, c, ns)
	first, installed := pods(t, c, ns), targets(t, c, ns)

	helm(t, c, ns, "upgrade", "prober", chart, "--values", allValues, "--wait", "--timeout", "90s",
		"--set-json", `targets=[{"name":"other","url":"http://other.inference.svc:8000","apiKey":{"existingSecret":{"name":"llm","key":"token"}}}]`)
	if now := targets(t, c, ns); now == installed || !strings.Contains(now, "other.inference.svc") {
		t.Errorf("the targets file after their change: %s", now)
	}
	if now := pods(t, c, ns); !slices.Equal(now, first) {
		t.Errorf("a change of targets replaced pods %v by %v: their counters begin again", first, now)
	}

	helm(t, c, ns, "upgrade", "prober", chart, "--values", allValues, "--wait", "--timeout", "90s", "--set", "env.PROBER_LOG_LEVEL=debug")
	available(t, c, ns)
	second := pods(t, c, ns)
	if slices.ContainsFunc(second, func(uid string) bool { return slices.Contains(first, uid) }) {
		t.Errorf("a change of the environment left pods of %v in %v", first, second)
	}

	helm(t, c, ns, "rollback", "prober", "1", "--wait", "--timeout", "90s")
	available(t, c, ns)
	if now := targets(t, c, ns); now != installed {
		t.Errorf("the targets file after the rollback:\n%s\nwant\n%s", now, installed)
	}
	if out := helm(t, c, ns, "test", "prober", "--timeout", "90s"); !strings.Contains(out, "Succeeded") {
		t.Errorf("helm test: %s", out)
	}

	helm(t, c, ns, "uninstall", "prober", "--wait", "--timeout", "90s")
	nothingLeft(t, c, ns, before)
}

// TestShardsLive: many probers are a StatefulSet, which becomes ready, and goes.
func TestShardsLive(t *testing.T) {
	c := running(t)
	ns := namespace(t, c, "shards")
	before := everything(t, c, ns)
	helm(t, c, ns, "install", "prober", chart, "--set-json", `targets=[{"name":"vllm","url":"dns+http://vllm.inference.svc:8000"}]`,
		"--set", "shards=3", "--wait", "--timeout", "90s")
	if got := len(pods(t, c, ns)); got != 3 {
		t.Errorf("%d pods for three shards", got)
	}
	c.Kubectl(t, "", "--namespace", ns, "rollout", "status", "statefulset", "--timeout=60s")
	helm(t, c, ns, "uninstall", "prober", "--wait", "--timeout", "90s")
	nothingLeft(t, c, ns, before)
}

// helm runs helm in a namespace.
func helm(t *testing.T, c *cluster.Cluster, ns string, args ...string) string {
	t.Helper()
	return c.Helm(t, append([]string{"--namespace", ns}, args...)...)
}

// available fails the test if not every prober of the Deployment is available.
func available(t *testing.T, c *cluster.Cluster, ns string) {
	t.Helper()
	c.Kubectl(t, "", "--namespace", ns, "wait", "--for=condition=Available", "--timeout=60s", "deployment", "--all")
	if got := len(pods(t, c, ns)); got != twoProbers {
		t.Errorf("%d pods, want %d", got, twoProbers)
	}
}

// hasKinds checks that an object of each kind is there.
func hasKinds(t *testing.T, c *cluster.Cluster, ns string) {
	t.Helper()
	for _, kind := range []string{
		"deployment", "service", "serviceaccount", "configmap", "poddisruptionbudget", "networkpolicy",
		"servicemonitor", "prometheusrule", "alertmanagerconfig", "grafanadashboard",
	} {
		out := c.Kubectl(t, "", "--namespace", ns, "get", kind, "--output=name", "--selector=app.kubernetes.io/instance=prober")
		if strings.TrimSpace(out) == "" {
			t.Errorf("no %s", kind)
		}
	}
}

// podIsRestricted sends the pod of the Deployment by itself: of Deployments the
// API server only warns.
func podIsRestricted(t *testing.T, c *cluster.Cluster, ns string) {
	t.Helper()
	for _, deployment := range list(t, c, ns, "deployments") {
		var pod map[string]any
		if err := json.Unmarshal(deployment.Spec.Template, &pod); err != nil {
			t.Fatal(err)
		}
		maps.Copy(pod, map[string]any{"apiVersion": "v1", "kind": "Pod"})
		pod["metadata"].(map[string]any)["name"] = "alone"
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		c.Kubectl(t, string(text), "--namespace", ns, "create", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-")
	}
}

// pods returns the identities of all pods of the release that are not going, sorted.
func pods(t *testing.T, c *cluster.Cluster, ns string) (uids []string) {
	t.Helper()
	for _, pod := range list(t, c, ns, "pods", "--selector=app.kubernetes.io/instance=prober") {
		if pod.Metadata.DeletionTimestamp == "" {
			uids = append(uids, pod.Metadata.UID)
		}
	}
	slices.Sort(uids)
	return uids
}

// targets returns the targets file of the release.
func targets(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	for _, o := range list(t, c, ns, "configmaps", "--selector=app.kubernetes.io/instance=prober") {
		if text, ok := o.Data["targets.yaml"]; ok {
			return text
		}
	}
	t.Fatal("no ConfigMap has a targets file")
	return ""
}

// nothingLeft waits until a namespace is as it was before.
func nothingLeft(t *testing.T, c *cluster.Cluster, ns string, before []string) {
	t.Helper()
	var now []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if now = everything(t, c, ns); slices.Equal(now, before) {
			return
		}
	}
	t.Errorf("after the end there is\n%s\nbefore the beginning there was\n%s", fmt.Sprint(now), fmt.Sprint(before))
}
