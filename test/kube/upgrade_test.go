package kube_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/cluster"
)

// TestChartChangesShape takes a release from one prober to two and back, to shards
// and back, by upgrades: nothing that cannot be changed is, and no pod of the shape
// before stays.
func TestChartChangesShape(t *testing.T) {
	c := running(t)
	ns := namespace(t, c, "shapes")
	before := everything(t, c, ns)
	for _, shape := range []struct {
		values string
		pods   int
	}{
		{"replicas=1", 1},
		{"replicas=2", 2},
		{"replicas=1", 1},
		{"replicas=2,strategy.type=RollingUpdate", 2},
		{"replicas=1", 1},
		{"shards=3", 3},
		{"shards=2,commonLabels.team=a", 2},
		{"replicas=1,fullnameOverride=other", 1},
	} {
		release(t, c, ns, "prober", shape.values)
		if got := len(pods(t, c, ns)); got != shape.pods {
			t.Errorf("%s: %d pods, want %d", shape.values, got, shape.pods)
		}
	}
	helm(t, c, ns, "upgrade", "prober", chart, "--reuse-values", "--set", "objectives=null,settings.prompt_tokens=1000", "--wait", "--timeout", "90s")
	if now := targets(t, c, ns); !strings.Contains(now, "prompt_tokens: 1000") {
		t.Errorf("the targets file after --reuse-values:\n%s", now)
	}
	helm(t, c, ns, "uninstall", "prober", "--wait", "--timeout", "90s")
	nothingLeft(t, c, ns, before)
}

// TestReleasesSideBySide: two in one namespace, with all that has a name of its own,
// and one of them with the longest name that Helm takes.
func TestReleasesSideBySide(t *testing.T) {
	c := running(t)
	ns := namespace(t, c, "beside")
	before := everything(t, c, ns)
	long := "a" + strings.Repeat("-long", 10) + "-1"
	const much = "serviceMonitor.enabled=true,prometheusRule.enabled=true,grafanaDashboards.enabled=true," +
		"grafanaDashboards.grafanaOperator.enabled=true,networkPolicy.enabled=true,podMonitoring.enabled=true"
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
func release(t *testing.T, c *cluster.Cluster, ns, name, values string) {
	t.Helper()
	helm(t, c, ns, "upgrade", "--install", name, chart, "--wait", "--timeout", "90s",
		"--set", "targets[0].name=vllm,targets[0].url=http://vllm.inference.svc:8000,"+values)
}
