package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
)

// TestListing holds which address is a target if several have the same name or URL, and that each shard has its share of
// what is listed, which all shards together have once.
func TestListing(t *testing.T) {
	c := load(t, "HTTP_SD_0_URL=http://sd/0", "HTTP_SD_1_URL=http://sd/1", "TARGETS_0_URL=http://a:1",
		"TARGETS_1_URL=dns+http://pods:1", "TARGETS_1_NAME=pods", "TARGETS_2_URL=http://g:1", "TARGETS_2_GROUP=group:1")
	c.Reject([]config.Rejected{{Name: "bad:1"}})
	found := lists{
		"http://sd/0": {targets: []listed{
			{"a:1", nil}, {"b:1", nil}, {"bad:1", nil}, {"group:1", nil}, {"http://b:1", nil}, {"pods/10.0.0.1", nil}, {"x:y", nil},
			{"x:y", nil},
		}},
		"http://sd/1":      {targets: []listed{{"b:1", map[string]string{"team": "x"}}, {"c:1", nil}}},
		"http://not/in/it": {targets: []listed{{"d:1", nil}}},
	}
	l := found.listing(c)
	var names, rejected []string
	for _, target := range l.targets {
		names = append(names, target.Name)
	}
	for _, target := range l.rejected {
		rejected = append(rejected, target.Name)
	}
	got := [][]string{names, rejected, l.twice, l.droppedLabels()}
	want := [][]string{
		{"b:1", "c:1"}, {"x:y"}, {"a:1", "bad:1", "group:1", "http://b:1", "pods/10.0.0.1", "x:y", "b:1"}, {"team"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets, rejected, twice and dropped labels (-want +got):\n%s", diff)
	}

	owned := map[string]int{}
	for i := range 3 {
		c.Shard = config.Shard{Index: i, Of: 3}
		next := takeInventory(c, directory{}, found)
		for _, target := range next.targets {
			owned[target.Name]++
		}
		if next.all != 5 {
			t.Errorf("there are %d targets, want 5", next.all)
		}
	}
	if text := fmt.Sprint(owned); text != "map[a:1:1 b:1:1 c:1:1 g:1:1 pods:1]" {
		t.Errorf("the shards own %s", text)
	}
}

// TestManyListedTargetsAreCompared holds that the same list in another order is the same inventory.
func TestManyListedTargetsAreCompared(t *testing.T) {
	c := load(t, "HTTP_SD_0_URL=http://sd/0", "LABELS=team=none")
	var inventories []inventory
	for _, order := range []string{"a b c", "c a b"} {
		var groups []string
		for name := range strings.FieldsSeq(order) {
			groups = append(groups, fmt.Sprintf(`{"targets": ["%s:1"], "labels": {"team": %q}}`, name, name))
		}
		targets, err := parseList([]byte("[" + strings.Join(groups, ",") + "]"))
		if err != nil {
			t.Fatal(err)
		}
		inventories = append(inventories, takeInventory(c, directory{}, lists{"http://sd/0": {targets: targets}}))
	}
	if diff := cmp.Diff(inventories[0], inventories[1], cmp.AllowUnexported(inventory{}, listing{}, config.Secret{})); diff != "" {
		t.Errorf("in another order:\n%s", diff)
	}
}
