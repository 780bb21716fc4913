package engine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
)

// TestSharesAreWholeAndApart holds that each target is in exactly one share, and that the members of a group are in the
// same one.
func TestSharesAreWholeAndApart(t *testing.T) {
	var targets []config.Target
	for n := range 90 {
		targets = append(targets, config.Target{Name: fmt.Sprint("member ", n), Group: fmt.Sprint("g", n/3)})
	}
	ownerOf := map[string]int{} // by group
	owned := 0
	for i := range 4 {
		for _, target := range share(targets, config.Shard{Index: i, Of: 4}) {
			owner, isKnown := ownerOf[target.Group]
			if isKnown && owner != i {
				t.Errorf("group %s is torn", target.Group)
			}
			ownerOf[target.Group] = i
			owned++
		}
	}
	if owned != len(targets) || len(ownerOf) != 30 {
		t.Errorf("the shards own %d targets of %d groups, want 90 of 30", owned, len(ownerOf))
	}
}

// TestAShardLogsWhatItOwns holds that it does so at the start, and again only when that is another number.
func TestAShardLogsWhatItOwns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		three := []string{"SHARD=1/2", "TARGETS_0_URL=http://a", "TARGETS_1_URL=http://b", "TARGETS_2_URL=http://c"}
		owned := len(share(load(t, three...).Targets, config.Shard{Index: 1, Of: 2}))
		d.apply("", three...)
		d.apply("", append(three, "TIMEOUT=7s")...)
		var got []map[string]any
		for _, entry := range d.logs.FilterMessage("shard").All() {
			got = append(got, entry.ContextMap())
		}
		want := []map[string]any{{"shard": "1/2", "owns": int64(owned), "of": int64(3)}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
	})
}

// TestExpand holds which targets stand for one whose host has several addresses.
func TestExpand(t *testing.T) {
	got := expand([]config.Target{
		{Name: "plain", Group: "plain", URL: "http://plain"},
		{Name: "a", URL: "http://two:8000/v1", EachAddress: true, QPS: 2},
		{Name: "b", Group: "g", URL: "https://two", EachAddress: true},
		{Name: "c", URL: "http://none", EachAddress: true},
		{Name: "d", Group: "g", URL: "http://none", EachAddress: true},
	}, directory{"two": hostRecord{addresses: [len(families)][]address{
		{{Addr: netip.MustParseAddr("10.0.0.1")}}, {{Addr: netip.MustParseAddr("fd00::1")}},
	}}})
	const url = "http://two:8000/v1"
	want := []config.Target{
		{Name: "plain", Group: "plain", URL: "http://plain"},
		{
			Name: "a/10.0.0.1", Workload: "a", Group: "a/10.0.0.1",
			URL: url, EachAddress: true, Address: "10.0.0.1", QPS: 2,
		},
		{
			Name: "a/fd00::1", Workload: "a", Group: "a/fd00::1",
			URL: url, EachAddress: true, Address: "fd00::1", QPS: 2,
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
	for _, target := range lookUpTargets(t.Context(), c, lookup) {
		got = append(got, target.Name)
	}
	if want := []string{"here/127.0.0.1", "nowhere.invalid:80"}; !slices.Equal(got, want) {
		t.Errorf("targets are %v, want %v", got, want)
	}
}

// owners returns which of n shards owns each group, and fails the test where that
// is not exactly one.
func owners(t *testing.T, n int, groups []string) []int {
	t.Helper()
	owned := make([]int, len(groups))
	for g, group := range groups {
		var all []int
		for i := range n {
			if owns(config.Shard{Index: i, Of: n}, group) {
				all = append(all, i)
			}
		}
		if len(all) != 1 {
			t.Fatalf("%s has owners %v of %d shards", group, all, n)
		}
		owned[g] = all[0]
	}
	return owned
}

// TestOneShardMore holds that each of 1,000 targets has exactly one owner, that
// shards are about equal, and that a shard more moves about its share and nothing
// else. Bounds are four standard deviations of the binomial distribution; names
// are fixed, so that the counts are too.
func TestOneShardMore(t *testing.T) {
	fifth := func(what string, got int) {
		if got < 200-51 || got > 200+51 { // 4·√(1000·⅕·⅘)
			t.Errorf("%d %s, want 200 ± 51", got, what)
		}
	}
	for _, name := range []string{"vllm-%d.inference.svc:8000", "vllm/10.4.0.%d", "%d"} {
		var groups []string
		for n := range 1000 {
			groups = append(groups, fmt.Sprintf(name, n))
		}
		four, five := owners(t, 4, groups), owners(t, 5, groups)
		moved, of5 := 0, make([]int, 5)
		for g := range groups {
			of5[five[g]]++
			if four[g] != five[g] {
				moved++
				if five[g] != 4 {
					t.Errorf("%s moved from shard %d to %d, which is not the new one", groups[g], four[g], five[g])
				}
			}
		}
		for _, n := range of5 {
			fifth("targets of one of five shards", n)
		}
		fifth("targets that moved", moved)
	}
}

// TestOwnersNeverChange pins the score: another version of the prober must not
// move anybody's targets. The only prober owns all.
func TestOwnersNeverChange(t *testing.T) {
	got := owners(t, 5, []string{"vllm", "sglang", "a:80", "b:80", "", "vllm/10.1.2.3", "vllm/fd00::1"})
	if diff := cmp.Diff([]int{0, 1, 4, 4, 0, 0, 3}, got); diff != "" {
		t.Errorf("owners of five (-want +got):\n%s", diff)
	}
	for _, s := range []config.Shard{{}, {Index: 0, Of: 1}} {
		if !owns(s, "anything") || !owns(s, "") {
			t.Errorf("%+v does not own everything", s)
		}
	}
}
