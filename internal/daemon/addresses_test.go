package daemon

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const headless = "vllm-headless.ns.svc"

// nameServers know one host.
type nameServers struct {
	asked atomic.Int64

	mu        sync.Mutex // guards all below
	addresses []string
	fail      bool
}

func (n *nameServers) set(fail bool, addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail, n.addresses = fail, addresses
}

// lookup is a [engine.Lookup].
func (n *nameServers) lookup(_ context.Context, family, _ string) (list []netip.Addr, _ error) {
	n.asked.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, address := range n.addresses {
		if a := netip.MustParseAddr(address); a.Is4() == (family == "ip4") {
			list = append(list, a)
		}
	}
	if n.fail || list == nil {
		return nil, &net.DNSError{Err: "no answer", IsNotFound: !n.fail}
	}
	return list, nil
}

// startReplicas starts an instance that probes a headless service. Its pods are at the addresses that the name servers
// return; all hosts of the network may be among them.
func (n *network) startReplicas(names *nameServers, settings ...string) *instance {
	n.t.Helper()
	target := []string{"PROBER_TARGETS_0_NAME", "vllm", "PROBER_TARGETS_0_URL", "dns+http://" + headless}
	return n.start(&Daemon{Lookup: names.lookup}, append(target, settings...)...)
}

// TestReplicasComeAndGo holds that the addresses behind a name are looked up every 30 seconds and in each reload, that
// each is asked by the service's name, that one which is missing goes with the third lookup that lacks it, and that a
// name which a reload leaves out is not looked up any more.
func TestReplicasComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &nameServers{addresses: []string{"10.0.0.1", "10.0.0.2"}}
		servers := newNetwork(t, "10.0.0.1", "10.0.0.2", "10.0.0.3", "[fd00::4]")
		prober := servers.startReplicas(names)
		time.Sleep(time.Minute)
		prober.expectTargets("vllm/10.0.0.1", "vllm/10.0.0.2")
		servers.expectLastRequest("10.0.0.1", headless, "")

		names.set(false, "10.0.0.1", "fd00::4")
		time.Sleep(31 * time.Second)
		prober.expectTargets("vllm/10.0.0.1", "vllm/10.0.0.2", "vllm/fd00::4")
		time.Sleep(time.Minute)
		prober.expectTargets("vllm/10.0.0.1", "vllm/fd00::4")

		names.set(true)
		time.Sleep(5 * time.Minute)
		prober.expectTargets("vllm/10.0.0.1", "vllm/fd00::4")
		prober.expectMetrics(map[string]float64{"llm_prober_dns_lookup_failures_total": 10})
		prober.expectLogged(1, "DNS lookup failed; keeping the last known addresses")

		names.set(false, "10.0.0.2", "10.0.0.3")
		for range 3 {
			prober.ask(http.MethodPost, "/-/reload")
		}
		prober.expectTargets("vllm/10.0.0.2", "vllm/10.0.0.3")
		prober.mustReload([]string{"10.0.0.1"})
		asked := names.asked.Load()
		time.Sleep(5 * time.Minute)
		expectEqual(t, "lookups of a host that is not configured any more", names.asked.Load()-asked, int64(0))
		prober.expectTargets("10.0.0.1:80")
	})
}

// TestANameWithoutAddresses holds that a service which is not there (yet) is a target that fails for its name, that the
// prober is ready all the same, and that replicas take its place: also while a file of the configuration is gone, and a
// reload was refused for it.
func TestANameWithoutAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &nameServers{}
		dir := t.TempDir()
		set := writeFile(t, dir, "set", `{"prompt": "It was the best of times, it was the worst of times."}`)
		prober := newNetwork(t, "10.0.0.1").startReplicas(names, "PROBER_PROMPT", "dataset", "PROBER_DATASET_FILE", set,
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
		names.set(false, "10.0.0.1")
		time.Sleep(time.Minute)
		prober.expectTargets("vllm/10.0.0.1")
		names.set(false)
		time.Sleep(time.Minute)
		prober.expectTargets("vllm/10.0.0.1")
		time.Sleep(31 * time.Second)
		prober.expectTargets("vllm")
	})
}
