package format

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPadColumns holds that a column is as wide as its widest cell, counted in characters.
func TestPadColumns(t *testing.T) {
	rows := [][]string{{"name", "p50"}, {"é", "1"}, {"longer", "10 ms"}}
	want := [][]string{{"name  ", "  p50"}, {"é     ", "    1"}, {"longer", "10 ms"}}
	if diff := cmp.Diff(want, PadColumns(rows, []bool{false, true})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
