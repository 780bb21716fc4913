package discovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const host = "vllm-headless.ns.svc"

// asking returns a directory that asks name servers as the real one does.
func asking(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Directory {
	return New((&net.Resolver{PreferGo: true, StrictErrors: true, Dial: dial}).LookupNetIP)
}

// expect compares what d knows of the host.
func expect(t *testing.T, d *Directory, want string) {
	t.Helper()
	got := []string{}
	for _, a := range d.Addresses(host) {
		got = append(got, a.String())
	}
	if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// TestAddressesComeAndGo goes through the life of a headless service, asked of a DNS server with the resolver that is
// used outside of tests.
func TestAddressesComeAndGo(t *testing.T) {
	s := &server{hosts: map[string][]string{}}
	d := asking(s.dial)
	for _, step := range []struct {
		name   string
		do     func()
		want   string
		failed bool
	}{
		{name: "a service without pods", do: func() {}},
		{name: "two pods, in no order", do: func() { s.hosts[host] = []string{"10.1.2.10", "10.1.2.9", "10.1.2.9"} }, want: "10.1.2.9 10.1.2.10"},
		{name: "one goes and one comes", do: func() { s.hosts[host] = []string{"10.1.2.10", "10.1.2.11"} }, want: "10.1.2.10 10.1.2.11"},
		{name: "the name server fails", do: func() { s.hosts[host] = []string{"10.9.9.9"}; s.v4, s.v6 = true, true }, want: "10.1.2.10 10.1.2.11", failed: true},
		{name: "it works again", do: func() { s.v4, s.v6 = false, false }, want: "10.9.9.9"},
		{name: "both families", do: func() { s.hosts[host] = []string{"fd00::2", "10.9.9.9", "fd00::1"} }, want: "10.9.9.9 fd00::1 fd00::2"},
		{name: "one family fails", do: func() { s.hosts[host] = []string{"10.9.9.8", "fd00::3"}; s.v4, s.v6 = false, true }, want: "10.9.9.8 fd00::1 fd00::2", failed: true},
		{name: "the other fails", do: func() { s.hosts[host] = []string{"10.9.9.7", "fd00::3"}; s.v4, s.v6 = true, false }, want: "10.9.9.8 fd00::3", failed: true},
		{name: "no pods any more", do: func() { delete(s.hosts, host); s.v4, s.v6 = false, false }},
	} {
		step.do()
		failures := d.Refresh(t.Context(), []string{host})
		t.Logf("%s: %v", step.name, failures)
		expect(t, d, step.want)
		if _, failed := failures[host]; failed != step.failed || len(failures) > 1 {
			t.Errorf("%s: failures %v", step.name, failures)
		}
	}
}

// TestADeadNameServer holds that where the first of two name servers does not answer, the second one is heard.
func TestADeadNameServer(t *testing.T) {
	if _, err := net.DefaultResolver.LookupHost(t.Context(), "localhost"); err != nil { // it keeps a channel that is no bubble's
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, dials := &server{hosts: map[string][]string{host: {"10.0.0.1", "10.0.0.2"}}}, 0
		d := asking(func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials++; dials%2 == 0 {
				return s.dial(ctx, network, address)
			}
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }() // until ours is closed
			return ours, nil
		})
		if failures := d.Refresh(t.Context(), []string{host}); len(failures) > 0 {
			t.Errorf("after %d connections: %v", dials, failures)
		}
		expect(t, d, "10.0.0.1 10.0.0.2")
	})
}

// TestTooManyAddresses holds that a mistake does not become a bill.
func TestTooManyAddresses(t *testing.T) {
	s := &server{hosts: map[string][]string{}}
	d := asking(s.dial)
	s.hosts[host] = []string{"10.0.0.1"}
	d.Refresh(t.Context(), []string{host})
	var many []string
	for n := range MaxAddresses {
		many = append(many, fmt.Sprintf("10.1.%d.%d", n/250, n%250))
	}
	s.hosts[host] = append(many, "fd00::1")
	want := "1001 addresses, and at most 1000 are probed"
	if err := d.Refresh(t.Context(), []string{host})[host]; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	expect(t, d, "10.0.0.1")
	s.hosts[host] = many
	if failures := d.Refresh(t.Context(), []string{host}); len(failures) > 0 || len(d.Addresses(host)) != MaxAddresses {
		t.Errorf("%d addresses, %v", len(d.Addresses(host)), failures)
	}
}

// TestRefreshEndsWithItsContext checks that a name server that never answers delays a refresh no longer than its
// context allows.
func TestRefreshEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hosts []string
		for n := range 3 * concurrency {
			hosts = append(hosts, fmt.Sprintf("host-%d", n))
		}
		d := New(func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		failures := d.Refresh(ctx, hosts)
		if took := time.Since(start); took != 5*time.Second || len(failures) != len(hosts) || !errors.Is(failures["host-0"], context.DeadlineExceeded) {
			t.Errorf("%d failures after %v: %v", len(failures), took, failures["host-0"])
		}
	})
}

// TestHostsAreForgotten holds that a directory knows the hosts of the last refresh, and that an IPv4 address is one
// however it is spelt.
func TestHostsAreForgotten(t *testing.T) {
	d := New(func(_ context.Context, family, _ string) ([]netip.Addr, error) {
		if family == "ip6" {
			return nil, &net.DNSError{IsNotFound: true}
		}
		return []netip.Addr{netip.MustParseAddr("::ffff:10.0.0.1")}, nil
	})
	d.Refresh(t.Context(), []string{host, "other"})
	d.Refresh(t.Context(), []string{host})
	expect(t, d, "10.0.0.1")
	if left := d.Addresses("other"); left != nil {
		t.Errorf("a host that was not kept has %v", left)
	}
}
