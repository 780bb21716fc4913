package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
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

// expect compares what d knows of the host.
func expect(t *testing.T, d *directory, want string) {
	t.Helper()
	got := []string{}
	for _, a := range d.addresses(host) {
		got = append(got, a.String())
	}
	if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// TestAddressesComeAndGo goes through the life of a headless service.
func TestAddressesComeAndGo(t *testing.T) {
	var r resolver
	d := newDirectory(r.lookup)
	for _, step := range []struct{ name, addresses, fails, want string }{
		{"a service without pods", "", "", ""},
		{"two pods, in no order", "10.1.2.10 10.1.2.9 ::ffff:10.1.2.9", "", "10.1.2.9 10.1.2.10"},
		{"one goes and one comes", "10.1.2.10 10.1.2.11", "", "10.1.2.10 10.1.2.11"},
		{"the name server fails", "10.9.9.9", "ip4 ip6", "10.1.2.10 10.1.2.11"},
		{"it works again", "10.9.9.9", "", "10.9.9.9"},
		{"both families", "fd00::2 10.9.9.9 fd00::1", "", "10.9.9.9 fd00::1 fd00::2"},
		{"one family fails", "10.9.9.8 fd00::3", "ip6", "10.9.9.8 fd00::1 fd00::2"},
		{"the other fails", "10.9.9.7 fd00::3", "ip4", "10.9.9.8 fd00::3"},
		{"no pods any more", "", "", ""},
		{"and some again", "10.0.0.1", "", "10.0.0.1"},
	} {
		r = resolver{step.addresses, step.fails}
		failures := d.refresh(t.Context(), []string{host})
		t.Logf("%s: %v", step.name, failures)
		expect(t, d, step.want)
		if (failures[host] != nil) != (step.fails != "") || len(failures) > 1 {
			t.Errorf("%s: failures %v", step.name, failures)
		}
	}
	d.refresh(t.Context(), nil)
	expect(t, d, "") // a host that is not asked for is forgotten
}

// TestTooManyAddresses holds that a mistake does not become a bill.
func TestTooManyAddresses(t *testing.T) {
	r := resolver{addresses: "10.0.0.1"}
	d := newDirectory(r.lookup)
	d.refresh(t.Context(), []string{host})
	r.addresses = "fd00::1"
	for n := range maxAddresses {
		r.addresses += fmt.Sprintf(" 10.1.%d.%d", n/250, n%250)
	}
	want := "1001 addresses, and at most 1000 are probed"
	if err := d.refresh(t.Context(), []string{host})[host]; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	expect(t, d, "10.0.0.1")
	r.addresses = strings.TrimPrefix(r.addresses, "fd00::1")
	if failures := d.refresh(t.Context(), []string{host}); len(failures) > 0 || len(d.addresses(host)) != maxAddresses {
		t.Errorf("%d addresses, %v", len(d.addresses(host)), failures)
	}
}

// TestRefreshIsBounded holds that both families can be asked of the second name server where the first one does not
// answer, and that name servers which never answer delay a refresh by 12 seconds, or less if its context says so.
func TestRefreshIsBounded(t *testing.T) {
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
			d := newDirectory(func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
				select {
				case <-time.After(test.answer):
				case <-ctx.Done():
				}
				return nil, ctx.Err()
			})
			var hosts []string
			for n := range test.hosts {
				hosts = append(hosts, fmt.Sprint(n))
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.allowed)
			defer cancel()
			start := time.Now()
			failures := d.refresh(ctx, hosts)
			if took := time.Since(start); took != test.took || len(failures) != test.failed ||
				test.failed > 0 && !errors.Is(failures["0"], context.DeadlineExceeded) {
				t.Errorf("%+v: %d failures after %v: %v", test, len(failures), took, failures["0"])
			}
		})
	}
}
