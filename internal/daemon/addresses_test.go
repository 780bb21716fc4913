package daemon

import (
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/testing/simnet"
)

const headless = "vllm-headless.ns.svc"

// startReplicas starts an instance that probes a headless service. Its pods are at the addresses that the name servers
// know; all hosts of the network may be among them.
func startReplicas(t *testing.T, servers *simnet.Network, names *simnet.Names, settings ...string) *instance {
	t.Helper()
	target := []string{"PROBER_TARGETS_0_NAME", "vllm", "PROBER_TARGETS_0_URL", "dns+http://" + headless}
	return start(t, servers, &Daemon{Lookup: names.Lookup}, append(target, settings...)...)
}

// TestReplicasComeAndGo holds that the addresses behind a name are looked up every 30 seconds and in each reload, that
// each is asked by the service's name, that one which is missing goes with the third lookup that lacks it, and that a
// name which a reload leaves out is not looked up any more.
func TestReplicasComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &simnet.Names{}
		names.Set("10.0.0.1", "10.0.0.2")
		servers := simnet.New(t, "10.0.0.1", "10.0.0.2", "10.0.0.3", "[fd00::4]")
		prober := startReplicas(t, servers, names)
		time.Sleep(time.Minute)
		prober.expectTargets("vllm/10.0.0.1", "vllm/10.0.0.2")
		expectLastRequest(t, servers, "10.0.0.1", headless, "")

		names.Set("10.0.0.1", "fd00::4")
		time.Sleep(31 * time.Second)
		prober.expectTargets("vllm/10.0.0.1", "vllm/10.0.0.2", "vllm/fd00::4")
		time.Sleep(time.Minute)
		prober.expectTargets("vllm/10.0.0.1", "vllm/fd00::4")

		names.Fail()
		time.Sleep(5 * time.Minute)
		prober.expectTargets("vllm/10.0.0.1", "vllm/fd00::4")
		prober.expectMetrics(map[string]float64{"llm_prober_dns_lookup_failures_total": 10})
		prober.expectLogged(1, "DNS lookup failed; keeping the last known addresses")

		names.Set("10.0.0.2", "10.0.0.3")
		for range 3 {
			prober.ask(http.MethodPost, "/-/reload")
		}
		prober.expectTargets("vllm/10.0.0.2", "vllm/10.0.0.3")
		prober.mustReload([]string{"10.0.0.1"})
		asked := names.Lookups()
		time.Sleep(5 * time.Minute)
		expectEqual(t, "lookups of a host that is not configured any more", names.Lookups()-asked, 0)
		prober.expectTargets("10.0.0.1:80")
	})
}

// TestANameWithoutAddresses holds that a service which is not there (yet) is a target that fails for its name, that the
// prober is ready all the same, and that replicas take its place: also while a file of the configuration is gone, and a
// reload was refused for it.
func TestANameWithoutAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &simnet.Names{}
		dir := t.TempDir()
		set := writeFile(t, dir, "set", `{"prompt": "It was the best of times, it was the worst of times."}`)
		prober := startReplicas(t, simnet.New(t, "10.0.0.1"), names, "PROBER_PROMPT", "dataset", "PROBER_DATASET_FILE", set,
			"PROBER_DNS_INTERVAL", "20s",
			"PROBER_TARGETS_0_CA_FILE", newPair(t).write(t, dir, "ca"))
		time.Sleep(time.Minute)
		prober.expectTargets("vllm")
		prober.expectSlots("vllm", "dns=6")
		prober.expectReady(true)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		prober.expectLastReload(false)
		names.Set("10.0.0.1")
		time.Sleep(61 * time.Second)
		prober.expectTargets("vllm/10.0.0.1")
		names.Set()
		time.Sleep(50 * time.Second) // two lookups
		prober.expectTargets("vllm/10.0.0.1")
		time.Sleep(10 * time.Second)
		prober.expectTargets("vllm")
	})
}
