package engine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/config"
)

// TestSharesAreWholeAndApart holds that each target is in exactly one share, that the members of a group are in the
// same one, and that each shard logs once what it owns.
func TestSharesAreWholeAndApart(t *testing.T) {
	c := &config.Config{}
	for n := range 90 {
		c.Targets = append(c.Targets, config.Target{Name: fmt.Sprint("member ", n), Group: fmt.Sprint("g", n/3)})
	}
	core, logs := observer.New(zapcore.InfoLevel)
	ownerOf := map[string]int{} // by group
	owned := 0
	for i := range 4 {
		c.Shard = config.Shard{Index: i, Of: 4}
		share := newOwnedTargets(nil, zap.New(core))
		targets := share.expandAndShard(c)
		share.expandAndShard(c) // is not logged again
		for _, target := range targets {
			owner, isKnown := ownerOf[target.Group]
			if isKnown && owner != i {
				t.Errorf("group %s is torn", target.Group)
			}
			ownerOf[target.Group] = i
		}
		owned += len(targets)
		want := map[string]any{"shard": fmt.Sprintf("%d/4", i), "owns": int64(len(targets)), "of": int64(90)}
		entries := logs.TakeAll()
		if len(entries) != 1 {
			t.Fatalf("shard %d logged %v", i, entries)
		}
		if diff := cmp.Diff(want, entries[0].ContextMap()); diff != "" {
			t.Errorf("shard %d logged (-want +got):\n%s", i, diff)
		}
	}
	if owned != len(c.Targets) || len(ownerOf) != 30 {
		t.Errorf("the shards own %d targets of %d groups, want 90 of 30", owned, len(ownerOf))
	}
}

// TestExpand holds which targets stand for one whose host has several addresses.
func TestExpand(t *testing.T) {
	fast := config.Settings{QPS: 2}
	got := expand([]config.Target{
		{Name: "plain", Group: "plain", URL: "http://plain"},
		{Name: "a", URL: "http://two:8000/v1", EachAddress: true, Settings: fast},
		{Name: "b", Group: "g", URL: "https://two", EachAddress: true},
		{Name: "c", URL: "http://none", EachAddress: true},
		{Name: "d", Group: "g", URL: "http://none", EachAddress: true},
	}, func(host string) []netip.Addr {
		if host == "two" {
			return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}
		}
		return nil
	})
	const url = "http://two:8000/v1"
	want := []config.Target{
		{Name: "plain", Group: "plain", URL: "http://plain"},
		{
			Name: "a/10.0.0.1", Workload: "a", Group: "a/10.0.0.1",
			URL: url, EachAddress: true, Address: "10.0.0.1", Settings: fast,
		},
		{
			Name: "a/fd00::1", Workload: "a", Group: "a/fd00::1",
			URL: url, EachAddress: true, Address: "fd00::1", Settings: fast,
		},
		{Name: "b/10.0.0.1", Workload: "b", Group: "g", URL: "https://two", EachAddress: true, Address: "10.0.0.1"},
		{Name: "b/fd00::1", Workload: "b", Group: "g", URL: "https://two", EachAddress: true, Address: "fd00::1"},
		{Name: "c", Group: "c", URL: "http://none", EachAddress: true},
		{Name: "d", Group: "g", URL: "http://none", EachAddress: true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config.Secret{})); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// TestPresent holds that commands that end see each address of a name, and a name that does not exist as one target.
func TestPresent(t *testing.T) {
	c, err := config.Load(config.Options{URLs: []string{"here=dns+http://localhost:1", "dns+http://nowhere.invalid"}})
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(_ context.Context, family, host string) ([]netip.Addr, error) {
		switch {
		case host == "nowhere.invalid":
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		case family == "ip4":
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return nil, nil
	}
	var got []string
	for _, target := range present(t.Context(), c, lookup) {
		got = append(got, target.Name)
	}
	if want := []string{"here/127.0.0.1", "nowhere.invalid:80"}; !slices.Equal(got, want) {
		t.Errorf("targets are %v, want %v", got, want)
	}
}
