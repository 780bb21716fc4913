package main

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the dashboards")

// TestDashboardsAreWhatTheGeneratorSays checks that the JSON was not edited by hand.
func TestDashboardsAreWhatTheGeneratorSays(t *testing.T) {
	if *update {
		if err := write(".."); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range dashboards() {
		want, err := encode(b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../" + fileOf(b))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("dashboards/%s is not what the generator writes: run make generate", fileOf(b))
		}
	}
}
