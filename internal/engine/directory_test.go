package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const host = "vllm-headless.ns.svc"

// A resolver answers with the addresses of one host, as [net.Resolver] does.
type resolver struct {
	addresses string // empty: the host does not exist
	fails     string // the families that no name server answers for
}

func (r *resolver) lookup(_ context.Context, family, _ string) (list []netip.Addr, _ error) {
	for address := range strings.FieldsSeq(r.addresses) {
		if a := netip.MustParseAddr(address); a.Unmap().Is4() == (family == "ip4") {
			list = append(list, a)
		}
	}
	failed := strings.Contains(r.fails, family)
	switch {
	case failed || r.addresses == "":
		return nil, &net.DNSError{Err: "no answer", IsNotFound: !failed}
	case list == nil:
		return nil, &net.AddrError{Err: "no suitable address"} // of a name in the hosts file
	}
	return list, nil
}

// expect compares the addresses of the host in d, of which a ? follows those that the last lookup lacked.
func expect(t *testing.T, when string, d directory, want string) {
	t.Helper()
	got := []string{}
	for _, a := range d.addresses(host) {
		name := a.String()
		if d.isMissing(host, name) {
			name += "?"
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
		t.Errorf("%s: addresses (-want +got):\n%s", when, diff)
	}
}

// TestAddressesComeAndGo goes through the life of a headless service.
func TestAddressesComeAndGo(t *testing.T) {
	var r resolver
	d := directory{}
	for _, step := range []struct {
		name, addresses, fails string
		failing                string // addresses whose probes fail
		want                   string
	}{
		{"a service without pods", "", "", "", ""},
		{"two pods, in no order", "10.1.2.10 10.1.2.9 ::ffff:10.1.2.9", "", "", "10.1.2.9 10.1.2.10"},
		{"one goes and one comes", "10.1.2.10 10.1.2.11", "", "10.1.2.9", "10.1.2.10 10.1.2.11"},
		{"the name server fails", "10.9.9.9", "ip4 ip6", "10.1.2.10", "10.1.2.10 10.1.2.11"},
		{"it works again", "10.9.9.9", "", "10.1.2.10 10.1.2.11", "10.9.9.9"},
		{"both families", "fd00::2 10.9.9.9 fd00::1", "", "", "10.9.9.9 fd00::1 fd00::2"},
		{"one family fails", "10.9.9.8 fd00::3", "ip6", "10.9.9.9", "10.9.9.8 fd00::1 fd00::2"},
		{"the other fails", "10.9.9.7 fd00::3", "ip4", "fd00::1 fd00::2", "10.9.9.8 fd00::3"},
		{"a subset", "10.9.9.7", "", "", "10.9.9.7 10.9.9.8? fd00::3?"},
		{"another subset", "10.9.9.8", "", "", "10.9.9.7? 10.9.9.8 fd00::3?"},
		{"the name server fails meanwhile", "", "ip4 ip6", "", "10.9.9.7? 10.9.9.8 fd00::3?"},
		{"the third lookup without fd00::3", "10.9.9.8", "", "", "10.9.9.7? 10.9.9.8"},
		{"probes fail where it is listed", "10.9.9.7 10.9.9.8", "", "10.9.9.7", "10.9.9.7 10.9.9.8"},
		{"the count begins anew", "10.9.9.8", "", "", "10.9.9.7? 10.9.9.8"},
		{"no pods any more", "", "", "10.9.9.8", "10.9.9.7?"},
		{"and some again", "10.0.0.1", "", "", "10.0.0.1"},
	} {
		r = resolver{step.addresses, step.fails}
		failing := strings.Fields(step.failing)
		d = d.next(t.Context(), r.lookup, []string{host}, func(_ string, a netip.Addr) bool {
			return slices.Contains(failing, a.String())
		})
		expect(t, step.name, d, step.want)
		if (d.failed() > 0) != (step.fails != "") {
			t.Errorf("%s: %d lookups failed", step.name, d.failed())
		}
	}
	d = d.next(t.Context(), r.lookup, nil, noProbeFails)
	expect(t, "a host that is not asked for any more", d, "")
}

// noProbeFails is for hosts whose probes all succeed.
func noProbeFails(string, netip.Addr) bool { return false }

// TestTooManyAddresses holds that a mistake does not become a bill.
func TestTooManyAddresses(t *testing.T) {
	r := resolver{addresses: "10.0.0.1"}
	lookUp := func(d directory) directory { return d.next(t.Context(), r.lookup, []string{host}, noProbeFails) }
	d := lookUp(directory{})
	r.addresses = "fd00::1"
	for n := range maxAddresses {
		r.addresses += fmt.Sprintf(" 10.1.%d.%d", n/250, n%250)
	}
	d = lookUp(d)
	want := "1001 addresses, and at most 1000 are probed"
	if err := d[host].failure; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	expect(t, "too many", d, "10.0.0.1")
	r.addresses = strings.TrimPrefix(r.addresses, "fd00::1")
	d = lookUp(directory{})
	if d.failed() > 0 || len(d.addresses(host)) != maxAddresses {
		t.Errorf("%d addresses, %v", len(d.addresses(host)), d[host].failure)
	}
}

// TestLookupsAreBounded holds that both families can be asked of the second name server where the first one does not
// answer, and that name servers which never answer delay a lookup by 12 seconds, or less if its context says so.
func TestLookupsAreBounded(t *testing.T) {
	const never = time.Hour
	for _, test := range []struct {
		hosts, failed         int
		answer, allowed, took time.Duration
	}{
		{1, 0, 5 * time.Second, never, 10 * time.Second},
		{3 * lookupsAtOnce, 3 * lookupsAtOnce, never, never, 12 * time.Second},
		{3 * lookupsAtOnce, 3 * lookupsAtOnce, never, 5 * time.Second, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			lookup := func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
				select {
				case <-time.After(test.answer):
				case <-ctx.Done():
				}
				return nil, ctx.Err()
			}
			var hosts []string
			for n := range test.hosts {
				hosts = append(hosts, fmt.Sprint(n))
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.allowed)
			defer cancel()
			start := time.Now()
			d := directory{}.next(ctx, lookup, hosts, noProbeFails)
			if took := time.Since(start); took != test.took || d.failed() != test.failed ||
				test.failed > 0 && !errors.Is(d["0"].failure, context.DeadlineExceeded) {
				t.Errorf("%+v: %d failures after %v: %v", test, d.failed(), took, d["0"].failure)
			}
		})
	}
}
