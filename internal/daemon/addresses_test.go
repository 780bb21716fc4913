package daemon

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

// replicas starts an instance that probes a headless service whose pods, of those
// addresses, are there when the name server says so.
func replicas(t *testing.T, names *nameServers, addresses []string, more ...string) *world {
	t.Helper()
	more = append(more, "PROBER_TARGETS_0_NAME", "vllm", "PROBER_TARGETS_0_URL", "dns+http://"+headless)
	return newWorld(t, &Daemon{Lookup: names.lookup}, addresses, more...)
}

var interval = regexp.MustCompile(`(?m)^llm_probe_interval_seconds\{.*target="([^"]*)"`)

// expectTargets expects the names of those that have series, sorted.
func (w *world) expectTargets(want ...string) {
	w.t.Helper()
	var names []string
	for _, found := range interval.FindAllStringSubmatch(w.get("/metrics"), -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		w.t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// TestReplicasComeAndGo holds that each address behind a name is a target of its own, asked by the service's name, from
// 30 seconds after it came at the latest to 30 seconds after it went, or from a reload on; that the others go on
// meanwhile, that a name server that fails changes nothing, and that what a reload leaves out is not looked up any more.
func TestReplicasComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &nameServers{addresses: []string{"10.0.0.1", "10.0.0.2"}}
		w := replicas(t, names, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "[fd00::4]"})
		time.Sleep(time.Minute)
		w.expectTargets("vllm/10.0.0.1", "vllm/10.0.0.2")
		if last, _ := w.requests.Load("10.0.0.1"); last.(*http.Request).Host != headless {
			t.Errorf("a replica was asked for the host %s", last.(*http.Request).Host)
		}

		names.set(false, "10.0.0.1", "10.0.0.3", "fd00::4")
		time.Sleep(31 * time.Second)
		w.expectTargets("vllm/10.0.0.1", "vllm/10.0.0.3", "vllm/fd00::4")
		time.Sleep(29 * time.Second)
		w.expectSlots("vllm/10.0.0.1", "ok=12")

		names.set(true, "10.0.0.2")
		time.Sleep(5 * time.Minute)
		w.expectTargets("vllm/10.0.0.1", "vllm/10.0.0.3", "vllm/fd00::4")
		w.expectSlots("vllm/10.0.0.1", "ok=42")
		w.expectLogged(1, "DNS lookup failed; keeping the last known addresses")
		w.expectText("llm_prober_dns_lookup_failures_total 10") // one each 30 seconds

		names.set(false, "10.0.0.2")
		time.Sleep(31 * time.Second)
		w.expectTargets("vllm/10.0.0.2")
		w.expectLogged(1, "DNS lookup succeeded again")
		if at := len(w.servers["10.0.0.1"].Sent()); at != 45 {
			t.Errorf("a replica that is gone was asked %d times", at)
		}

		names.set(false, "10.0.0.2", "10.0.0.3")
		w.ask(http.MethodPost, "/-/reload")
		w.expectTargets("vllm/10.0.0.2", "vllm/10.0.0.3")
		w.mustReload([]string{"10.0.0.1"})
		asked := names.asked.Load()
		time.Sleep(5 * time.Minute)
		if more := names.asked.Load() - asked; more > 0 {
			t.Errorf("%d lookups of a host that is not configured any more", more)
		}
		w.expectTargets("10.0.0.1:80")
	})
}

// TestANameWithoutAddresses holds that a service which is not there (yet) is a target that fails for its name, that the
// prober is ready all the same, and that replicas take its place: also while a certificate or a data set of any
// target cannot be read, and a reload was refused for it.
func TestANameWithoutAddresses(t *testing.T) {
	for name, fail := range map[string]bool{"no such name": false, "the name server fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				names := &nameServers{fail: fail}
				dir := t.TempDir()
				set := writeFile(t, dir, "set", `{"prompt": "It was the best of times, it was the worst of times."}`)
				w := replicas(t, names, []string{"10.0.0.1"},
					"PROBER_PROMPT", "dataset", "PROBER_DATASET_FILE", set, "PROBER_TARGETS_0_CA_FILE", newPair(t).write(t, dir, "ca"))
				time.Sleep(time.Minute)
				w.expectTargets("vllm")
				w.expectSlots("vllm", "dns=6")
				w.expectReady("Ready")
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				w.expectText("llm_prober_config_last_reload_successful 0")
				names.set(false, "10.0.0.1")
				time.Sleep(time.Minute)
				w.expectTargets("vllm/10.0.0.1")
				names.set(false)
				time.Sleep(time.Minute)
				w.expectTargets("vllm")
			})
		})
	}
}
