package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLabelsAddUp holds that a target has the labels of all sources, and of two with one name that of the source which
// counts more. A null or an empty text takes a label away.
func TestLabelsAddUp(t *testing.T) {
	const file = `
labels: {team: all, region: eu, tier: gold, note: "a, \"b\" = c"}
targets:
- {url: http://one, labels: {team: search, tier: null}}
- {url: http://two}
`
	for name, test := range map[string]struct {
		environ  string
		flags    map[string]string
		one, two Labels
		names    string
	}{
		"the file": {
			one:   Labels{"team": "search", "region": "eu", "tier": "", "note": `a, "b" = c`},
			two:   Labels{"team": "all", "region": "eu", "tier": "gold", "note": `a, "b" = c`},
			names: "note region team tier",
		},
		"a variable for all targets before the top of the file": {
			environ: "LABELS=team=ads, cluster = c1,note=",
			one:     Labels{"team": "search", "region": "eu", "tier": "", "note": "", "cluster": "c1"},
			two:     Labels{"team": "ads", "region": "eu", "tier": "gold", "note": "", "cluster": "c1"},
			names:   "cluster note region team tier",
		},
		"a flag before all": {
			environ: "LABELS=team=ads", flags: map[string]string{"LABELS": "team=flag,note=x"},
			one:   Labels{"team": "flag", "region": "eu", "tier": "", "note": "x"},
			two:   Labels{"team": "flag", "region": "eu", "tier": "gold", "note": "x"},
			names: "note region team tier",
		},
		"an empty flag restores the default, which is none": {
			environ: "LABELS=team=ads", flags: map[string]string{"LABELS": ""},
		},
	} {
		o := withFile(file, test.environ)
		o.Overrides = test.flags
		c := load(t, o)
		got := []Labels{c.Targets[0].Labels, c.Targets[1].Labels}
		if diff := cmp.Diff([]Labels{test.one, test.two}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if names := strings.Join(c.LabelNames, " "); names != test.names {
			t.Errorf("%s: labels of the names %s, want %s", name, names, test.names)
		}
	}
}

// TestLabelsAreShownAsYAML holds that what config show prints for labels can be read again, whatever is in the values.
func TestLabelsAreShownAsYAML(t *testing.T) {
	want := Labels{"note": `a, "b" = c # <d>`, "team": "élan"}
	o := withFile(`targets: [{url: http://a, labels: {note: "a, \"b\" = c # <d>", team: élan}}]`)
	text, _, err := Effective(o)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		shown, isLabels := strings.CutPrefix(line, "    labels: ")
		if !isLabels {
			continue
		}
		again := load(t, withFile("targets: [{url: http://a}]\nlabels: "+shown))
		if diff := cmp.Diff(want, again.Targets[0].Labels); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		return
	}
	t.Errorf("no labels in\n%s", text)
}

// TestNamesOfLabelsWithoutTargets holds that labels of targets which are rejected count: metrics need no restart to have
// them when the targets are right. Without any target that is right, those of variables count; no file is read.
func TestNamesOfLabelsWithoutTargets(t *testing.T) {
	o := withFile(`targets: [{url: http://a, labels: {team: a}}, {url: "no URL", labels: {region: eu}}]`, "LABELS=tier=gold")
	if diff := cmp.Diff([]string{"region", "team", "tier"}, load(t, o).LabelNames); diff != "" {
		t.Errorf("of a rejected target: -want +got\n%s", diff)
	}
	o.Environ["PROBER_TARGETS_0_LABELS"] = "team=a"
	o.ReadFile = func(name string) ([]byte, error) {
		t.Errorf("%s is read", name)
		return nil, nil
	}
	c, _ := LoadWithoutTargets(o)
	if diff := cmp.Diff([]string{"team", "tier"}, c.LabelNames); diff != "" {
		t.Errorf("of a refused configuration: -want +got\n%s", diff)
	}
}

// TestScrapedLabels holds that labels which a scrape may set itself are one warning, however many targets have them. A
// run that ends is not scraped.
func TestScrapedLabels(t *testing.T) {
	const file = `
labels: {team: search, cluster: a}
targets:
- {url: http://one, labels: {tier: gold}}
- {url: http://two, labels: {namespace: llm, cluster: b}}
`
	const warning = "labels cluster and namespace: a ServiceMonitor, a PodMonitor or Google's managed Prometheus sets " +
		"such labels itself: there, those of targets become exported_cluster and exported_namespace, and --by cluster " +
		"means the prober's own; choose other names, unless you scrape in another way"
	o := withFile(file)
	if diff := cmp.Diff([]string{warning}, load(t, o).Warnings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	o.Finite = true
	others := Options{Environ: withTarget("LABELS=team=search,region=eu,Pod=a")}
	for _, silent := range []Options{o, others} {
		if got := load(t, silent).Warnings; got != nil {
			t.Errorf("warns: %q", got)
		}
	}
}
