package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShards(t *testing.T) {
	for text, want := range map[string]Shard{
		"": {}, "0/1": {Index: 0, Of: 1}, "2/3": {Index: 2, Of: 3}, "prober-2/3": {Index: 2, Of: 3},
		"my-llm-prober-11/12": {Index: 11, Of: 12}, "007/8": {Index: 7, Of: 8}, "999/1000": {Index: 999, Of: 1000},
	} {
		if got := load(t, Options{Environ: withTarget("SHARD=" + text)}).Shard; got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}

// owners returns which of n shards owns each group, and fails the test where that
// is not exactly one.
func owners(t *testing.T, n int, groups []string) []int {
	t.Helper()
	owned := make([]int, len(groups))
	for g, group := range groups {
		owner, count := 0, 0
		for i := range n {
			if (Shard{Index: i, Of: n}).Owns(group) {
				owner, count = i, count+1
			}
		}
		if count != 1 {
			t.Fatalf("%s has %d owners of %d shards", group, count, n)
		}
		owned[g] = owner
	}
	return owned
}

// TestOneShardMore holds that each of 1,000 targets has exactly one owner, that
// shards are about equal, and that a shard more moves about its share and nothing
// else. Bounds are four standard deviations of the binomial distribution; names
// are fixed, so that the counts are too.
func TestOneShardMore(t *testing.T) {
	names := map[string]func(n int) string{
		"services":  func(n int) string { return fmt.Sprintf("vllm-%d.inference.svc:8000", n) },
		"addresses": func(n int) string { return fmt.Sprintf("vllm/10.4.%d.%d", n/250, n%250) },
		"numbers":   func(n int) string { return fmt.Sprint(n) },
	}
	for name, nth := range names {
		t.Run(name, func(t *testing.T) {
			var groups []string
			for n := range 1000 {
				groups = append(groups, nth(n))
			}
			four, five := owners(t, 4, groups), owners(t, 5, groups)
			moved, of4, of5 := 0, make([]int, 4), make([]int, 5)
			for g := range groups {
				of4[four[g]]++
				of5[five[g]]++
				if four[g] != five[g] {
					moved++
					if five[g] != 4 {
						t.Errorf("%s moved from shard %d to %d, which is not the new one", groups[g], four[g], five[g])
					}
				}
			}
			t.Logf("of four %v, of five %v, %d moved", of4, of5, moved)
			for _, n := range of4 {
				within(t, "targets of one of four shards", n, 250, 55) // 4·√(1000·¼·¾)
			}
			for _, n := range of5 {
				within(t, "targets of one of five shards", n, 200, 51) // 4·√(1000·⅕·⅘)
			}
			within(t, "targets that moved", moved, 200, 51)
		})
	}
}

func within(t *testing.T, what string, got, want, off int) {
	t.Helper()
	if got < want-off || got > want+off {
		t.Errorf("%d %s, want %d ± %d", got, what, want, off)
	}
}

// TestOwnersNeverChange pins the score: another version of the prober must not
// move anybody's targets.
func TestOwnersNeverChange(t *testing.T) {
	got := owners(t, 5, []string{"vllm", "sglang", "a:80", "b:80", "", "vllm/10.1.2.3", "vllm/fd00::1"})
	if diff := cmp.Diff([]int{0, 1, 4, 4, 0, 0, 3}, got); diff != "" {
		t.Errorf("owners of five (-want +got):\n%s", diff)
	}
}

func TestOneProberOwnsAll(t *testing.T) {
	for _, s := range []Shard{{}, {Index: 0, Of: 1}} {
		if !s.Owns("anything") || !s.Owns("") {
			t.Errorf("%+v does not own everything", s)
		}
	}
}

func TestEachAddress(t *testing.T) {
	c := load(t, Options{Environ: environ(strings.Join([]string{
		"TARGETS_0_URL=dns+http://vllm.ns.svc:8000/v1", "TARGETS_1_URL=dns+https://b", "TARGETS_1_NAME=b", "TARGETS_1_GROUP=g",
		"TARGETS_2_URL=http://c/dns+http://d",
	}, "\n"))})
	for i, want := range []Target{
		{Name: "vllm.ns.svc:8000", URL: "http://vllm.ns.svc:8000/v1", EachAddress: true},
		{Name: "b", Group: "g", URL: "https://b", EachAddress: true},
		{Name: "c:80", Group: "c:80", URL: "http://c/dns+http://d"},
	} {
		got := c.Targets[i]
		got = Target{Name: got.Name, Group: got.Group, URL: got.URL, EachAddress: got.EachAddress, Address: got.Address}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("target %d: -want +got\n%s", i, diff)
		}
	}
	u := load(t, Options{URLs: []string{"left=dns+http://a", "dns+http://b"}}).Targets
	if u[0].Name != "left" || u[1].Name != "b:80" || !u[0].EachAddress || !u[1].EachAddress {
		t.Errorf("arguments are %+v", u)
	}
}
