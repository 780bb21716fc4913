package main

import (
	"flag"
	"os"
	"testing"

	"github.com/llm-prober/prober/dashboards"
)

var update = flag.Bool("update", false, "write the dashboards")

// TestDashboardsAreWhatTheGeneratorSays checks that the JSON was not edited by hand.
func TestDashboardsAreWhatTheGeneratorSays(t *testing.T) {
	if *update {
		if err := write(".."); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range dashboards.Names() {
		want, err := generate(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("dashboards/%s.json is not what the generator writes: run make generate", name)
		}
	}
}
