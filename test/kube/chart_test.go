package kube_test

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

// chart is the folder of the chart: ours, or one that KUBE_CHART names, as a release's that was pushed.
var chart = cmp.Or(os.Getenv("KUBE_CHART"), "../../deploy/helm/prober")

const (
	allValues  = "testdata/everything-values.yaml"
	twoProbers = 2 // replicas there
)

// chartLives takes the chart with everything switched on through its life:
// installation, a change of targets, one of the environment, rollback, helm test,
// and its end, after which nothing is left.
func chartLives(t *testing.T, c *cluster) {
	ns := namespace(t, c, "life")
	before := everything(t, c, ns)

	helm(t, c, ns, "install", "prober", chart, "--values", allValues, "--wait", "--timeout", "90s")
	available(t, c, ns)
	first, installed := pods(t, c, ns), targets(t, c, ns)

	helm(t, c, ns, "upgrade", "prober", chart, "--values", allValues, "--wait", "--timeout", "90s",
		"--set-json", `config.targets=[{"name":"other","url":"http://other.inference.svc:8000"}]`)
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

// helm runs helm in a namespace.
func helm(t *testing.T, c *cluster, ns string, args ...string) string {
	t.Helper()
	return c.helm(t, append([]string{"--namespace", ns}, args...)...)
}

// available fails the test if not every prober of the Deployment is available.
func available(t *testing.T, c *cluster, ns string) {
	t.Helper()
	c.kubectl(t, "", "--namespace", ns, "wait", "--for=condition=Available", "--timeout=60s", "deployment", "--all")
	if got := len(pods(t, c, ns)); got != twoProbers {
		t.Errorf("%d pods, want %d", got, twoProbers)
	}
}

// pods returns the identities of all pods of the release that are not going, sorted.
func pods(t *testing.T, c *cluster, ns string) (uids []string) {
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
func targets(t *testing.T, c *cluster, ns string) string {
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
func nothingLeft(t *testing.T, c *cluster, ns string, before []string) {
	t.Helper()
	var now []string
	defer func() {
		if t.Failed() {
			t.Logf("after the end there is\n%v\nbefore the beginning there was\n%v", now, before)
		}
	}()
	program.Eventually(t, "the end of all objects", func() bool { now = everything(t, c, ns); return slices.Equal(now, before) })
}

// chartChangesShape takes a release from one prober to two and back, to shards
// and back, by upgrades: nothing that cannot be changed is, and no pod of the shape
// before stays.
func chartChangesShape(t *testing.T, c *cluster) {
	ns := namespace(t, c, "shapes")
	before := everything(t, c, ns)
	for _, shape := range []struct {
		values string
		pods   int
	}{
		{"replicas=1", 1},
		{"replicas=2", 2},
		{"replicas=1", 1},
		{"replicas=2,strategy.type=Recreate,strategy.rollingUpdate=null", 2},
		{"replicas=1", 1},
		{"shards=3,podDisruptionBudget.maxUnavailable=1", 3},
		{"shards=2,commonLabels.team=a", 2},
		{"replicas=1,fullnameOverride=other", 1},
	} {
		release(t, c, ns, "prober", shape.values)
		if got := len(pods(t, c, ns)); got != shape.pods {
			t.Errorf("%s: %d pods, want %d", shape.values, got, shape.pods)
		}
	}
	helm(t, c, ns, "upgrade", "prober", chart, "--reuse-values", "--set", "config.prompt_tokens=1000", "--wait", "--timeout", "90s")
	if now := targets(t, c, ns); !strings.Contains(now, "prompt_tokens: 1000") {
		t.Errorf("the targets file after --reuse-values:\n%s", now)
	}
	helm(t, c, ns, "uninstall", "prober", "--wait", "--timeout", "90s")
	nothingLeft(t, c, ns, before)
}

// releasesSideBySide has two in one namespace, with all that has a name of its own,
// and one of them with the longest name that Helm takes.
func releasesSideBySide(t *testing.T, c *cluster) {
	ns := namespace(t, c, "beside")
	before := everything(t, c, ns)
	long := "a" + strings.Repeat("-long", 10) + "-1"
	const much = "serviceMonitor.enabled=true,prometheusRule.enabled=true,grafanaDashboards.enabled=true," +
		"grafanaDashboards.grafanaOperator.enabled=true,networkPolicy.enabled=true,podMonitoring.enabled=true,alertmanagerConfig.enabled=true"
	release(t, c, ns, "prober", much)
	release(t, c, ns, long, much+",shards=2")
	helm(t, c, ns, "test", long, "--timeout", "90s")
	if got := len(list(t, c, ns, "pods")); got != 3 {
		t.Errorf("%d pods, want one and two", got)
	}
	helm(t, c, ns, "uninstall", "prober", "--wait", "--timeout", "90s")
	if names := everything(t, c, ns); !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, long[:50]) }) {
		t.Errorf("of the other release there is nothing in %v", names)
	}
	helm(t, c, ns, "uninstall", long, "--wait", "--timeout", "90s")
	nothingLeft(t, c, ns, before)
}

// release installs or upgrades a release with one target.
func release(t *testing.T, c *cluster, ns, name, values string) {
	t.Helper()
	helm(t, c, ns, "upgrade", "--install", name, chart, "--wait", "--timeout", "90s",
		"--set", "config.targets[0].name=vllm,config.targets[0].url=http://vllm.inference.svc:8000,"+values)
}
