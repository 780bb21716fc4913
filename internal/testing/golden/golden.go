// Package golden compares what the code produces with files of the repository: expected outputs in testdata, and
// generated documents and schemas. Only tests import it.
//
// Each test binary that imports it has the flag -update, which writes the files instead: `make generate`, or
// `go test ./internal/report -update`.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden and generated files instead of comparing with them")

// Updating reports whether the test run writes files instead of comparing with them.
func Updating() bool { return *update }

// Equal fails the test if a file differs from the text that the code produces now. With -update it writes the file.
func Equal(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // for everybody
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // for everybody
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the code produces; -update writes it (-file +code):\n%s", path, diff)
	}
}
