package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/llm-prober/prober/dashboards"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// TestDashboardsAreWhatTheGeneratorSays checks that the JSON was not edited by hand.
func TestDashboardsAreWhatTheGeneratorSays(t *testing.T) {
	for _, name := range dashboards.Names() {
		text, err := generate(name)
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "../"+name+".json", string(text))
	}
}

// TestASlowdownHasTheColoursOfItsAlert holds that what shows how many times the usual a latency is becomes orange and
// red at the ratios at which ProberSevereSlowdown is a warning and critical.
func TestASlowdownHasTheColoursOfItsAlert(t *testing.T) {
	rules, err := os.ReadFile("../../alerts/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ratios := regexp.MustCompile(`model:llm_probe_latency_seconds:slowdown_ratio > ([0-9.]+)`).FindAllSubmatch(rules, -1)
	if len(ratios) != 2 {
		t.Fatalf("%d ratios in the rules, want those of a warning and of a critical alert", len(ratios))
	}
	warning, critical := string(ratios[0][1]), string(ratios[1][1])
	want := "blue, " + warning + " orange, " + critical + " red"
	shown := 0
	check := func(where, expr string, colours []string) {
		if !strings.Contains(expr, "<<times_usual>>") || colours == nil {
			return
		}
		shown++
		if got := strings.Join(colours, ", "); got != want {
			t.Errorf("%s: colours %s, want %s", where, got, want)
		}
	}
	for _, name := range dashboards.Names() {
		var d dashboard
		err := read(name, &d)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range d.Rows {
			for _, p := range r.Panels {
				check(name+": "+p.Title, p.Expr, p.Style.Colours)
				for _, q := range p.Queries {
					check(name+": "+p.Title, q.Expr, q.Colours)
					check(name+": "+p.Title, q.Expr, p.Style.Colours)
				}
			}
		}
	}
	if shown < 3 {
		t.Errorf("%d panels and columns show it: the test does not see them", shown)
	}
	var shared common
	err = read("common", &shared)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(shared.Forms["degraded"], "<<slowdown>> > "+warning) {
		t.Errorf("a degraded target is not %s times as slow as usual", warning)
	}
}
