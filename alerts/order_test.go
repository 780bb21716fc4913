package alerts

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGroupSize holds that Mimir and Grafana Cloud accept each group: their default is at most 20 rules in one.
func TestGroupSize(t *testing.T) {
	for _, g := range groups(t) {
		if len(g.Rules) > 20 {
			t.Errorf("group %s has %d rules, want at most 20", g.Name, len(g.Rules))
		}
	}
}

// recordName matches the name of a record in an expression.
var recordName = regexp.MustCompile(`\b[a-z]+:\w+:\w+\b`)

// misplaced returns the rules that stand above a record of their own group which they read, and thus get its value of
// the evaluation before.
func misplaced(g group) []string {
	var found []string
	for i, r := range g.Rules {
		for _, below := range g.Rules[i+1:] {
			read := recordName.FindAllString(r.Expr, -1)
			if below.Record != "" && below.Record != r.Record && slices.Contains(read, below.Record) {
				found = append(found, r.Alert+r.Record+" reads "+below.Record)
			}
		}
	}
	return found
}

// TestOrder holds that each rule stands below the records of its group that it reads, and which groups read records of
// others. Those may be one interval old: a new pair here needs a thought about what that does.
func TestOrder(t *testing.T) {
	home := map[string]string{} // of each record, its group
	for _, g := range groups(t) {
		for _, r := range g.Rules {
			home[r.Record] = g.Name
		}
	}
	others := map[string][]string{} // by group, the groups whose records it reads
	for _, g := range groups(t) {
		for _, what := range misplaced(g) {
			t.Errorf("group %s: %s, which stands below it", g.Name, what)
		}
		read := map[string]bool{}
		for _, r := range g.Rules {
			for _, name := range recordName.FindAllString(r.Expr, -1) {
				switch home[name] {
				case "":
					t.Errorf("group %s: %s%s reads %s, which nobody records", g.Name, r.Alert, r.Record, name)
				case g.Name:
				default:
					read[home[name]] = true
				}
			}
		}
		if len(read) > 0 {
			others[g.Name] = slices.Sorted(maps.Keys(read))
		}
	}
	want := map[string][]string{
		"prober-availability":    {"prober-targets"},
		"prober-budget":          {"prober-objectives"},
		"prober-gaps":            {"prober-latency"},
		"prober-groups":          {"prober-latency", "prober-regression"},
		"prober-objectives":      {"prober-availability", "prober-targets"},
		"prober-objectives-slow": {"prober-objectives", "prober-targets"},
		"prober-regression":      {"prober-latency", "prober-slowdown"},
		"prober-replicas":        {"prober-latency", "prober-regression"},
		"prober-slowdown":        {"prober-latency"},
	}
	if diff := cmp.Diff(want, others); diff != "" {
		t.Errorf("groups that read records of others (-want +got)\n%s", diff)
	}
}

// TestMisplaced holds that a record which is moved below its reader is found.
func TestMisplaced(t *testing.T) {
	record := rule{Record: "target:x:rate", Expr: "rate(x[5m])"}
	reader := rule{Alert: "X", Expr: `target:x:rate{a="b"} > 1`}
	if found := misplaced(group{Rules: []rule{record, reader}}); len(found) != 0 {
		t.Errorf("the right order: %q", found)
	}
	if found := misplaced(group{Rules: []rule{reader, record}}); len(found) != 1 {
		t.Errorf("the wrong order: %q", found)
	}
}
