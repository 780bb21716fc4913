package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
)

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
