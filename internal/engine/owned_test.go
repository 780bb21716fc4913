package engine

import (
	"context"
	"fmt"
	"maps"
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

// TestSharesAreWholeAndApart holds that each of 1,000 targets is in exactly one share, that no group is torn, replicas
// with a group of theirs included, and that each shard logs once what it owns.
func TestSharesAreWholeAndApart(t *testing.T) {
	var targets []config.Target
	for n := range 700 {
		name := fmt.Sprintf("vllm-%d:8000", n)
		targets = append(targets, config.Target{Name: name, Group: name})
	}
	for n := range 200 {
		targets = append(targets, config.Target{Name: fmt.Sprint("pair ", n), Group: fmt.Sprint("g", n/2)})
	}
	targets = append(targets,
		config.Target{Name: "each", URL: "http://each", EachAddress: true},
		config.Target{Name: "together", Group: "t", URL: "http://together", EachAddress: true})
	core, logs := observer.New(zapcore.InfoLevel)
	owned := newOwnedTargets(func(_ context.Context, family, host string) (list []netip.Addr, _ error) {
		if family == "ip4" {
			for n := range map[string]byte{"each": 90, "together": 10}[host] {
				list = append(list, netip.AddrFrom4([4]byte{10, 0, 0, n}))
			}
		}
		return list, nil
	}, zap.New(core))
	owned.refresh(t.Context(), targets)
	for _, n := range []int{4, 5} {
		owner, shard := map[string]int{}, map[string]int{}
		for i := range n {
			c := &config.Config{Targets: targets, Shard: config.Shard{Index: i, Of: n}}
			own := owned.expandAndShard(c)
			owned.expandAndShard(c) // is not logged again
			for _, target := range own {
				owner[target.Name]++
				if of, known := shard[target.Group]; known && of != i {
					t.Errorf("group %s is torn", target.Group)
				}
				shard[target.Group] = i
			}
			told := logs.TakeAll()
			if len(told) != 1 || told[0].ContextMap()["owns"] != int64(len(own)) || told[0].ContextMap()["of"] != int64(1000) {
				t.Errorf("shard %d of %d owns %d and says %v", i, n, len(own), told)
			}
		}
		if twice := slices.ContainsFunc(slices.Collect(maps.Values(owner)), func(n int) bool { return n != 1 }); twice || len(owner) != 1000 {
			t.Errorf("%d of 1,000 targets are owned; any of them twice: %t", len(owner), twice)
		}
	}
}

// TestExpand says what an address makes of a target.
func TestExpand(t *testing.T) {
	got := expand([]config.Target{
		{Name: "plain", Group: "plain", URL: "http://plain"},
		{Name: "a", URL: "http://two:8000/v1", EachAddress: true, Settings: config.Settings{QPS: 2}},
		{Name: "b", Group: "g", URL: "https://two", EachAddress: true},
		{Name: "c", URL: "http://none", EachAddress: true},
		{Name: "d", Group: "g", URL: "http://none", EachAddress: true},
	}, func(host string) []netip.Addr {
		if host == "two" {
			return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}
		}
		return nil
	})
	want := []config.Target{
		{Name: "plain", Group: "plain", URL: "http://plain"},
		{Name: "a/10.0.0.1", Group: "a/10.0.0.1", URL: "http://two:8000/v1", EachAddress: true, Address: "10.0.0.1", Settings: config.Settings{QPS: 2}},
		{Name: "a/fd00::1", Group: "a/fd00::1", URL: "http://two:8000/v1", EachAddress: true, Address: "fd00::1", Settings: config.Settings{QPS: 2}},
		{Name: "b/10.0.0.1", Group: "g", URL: "https://two", EachAddress: true, Address: "10.0.0.1"},
		{Name: "b/fd00::1", Group: "g", URL: "https://two", EachAddress: true, Address: "fd00::1"},
		{Name: "c", Group: "c", URL: "http://none", EachAddress: true},
		{Name: "d", Group: "g", URL: "http://none", EachAddress: true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config.Secret{})); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// TestPresent holds that the verbs that end see replicas, and a name that does not exist as a target of that name.
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
