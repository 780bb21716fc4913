package report

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCheckingAPlotLeavesNoFile holds that a page which is never drawn is no
// empty file, and that one from before stays.
func TestCheckingAPlotLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	before, later := filepath.Join(dir, "before.html"), filepath.Join(dir, "later.html")
	if err := os.WriteFile(before, []byte("a page"), 0o600); err != nil {
		t.Fatal(err)
	}
	if problems := append(CheckOutput("text", before), CheckOutput("text", later)...); problems != nil {
		t.Error(problems)
	}
	if data, err := os.ReadFile(before); string(data) != "a page" { //nolint:gosec // our own
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(later); !os.IsNotExist(err) {
		t.Errorf("a file is left: %v", err)
	}
	if problems := append(CheckOutput("json", filepath.Join(dir, "no", "x.html")), CheckOutput("json", "x.png")...); len(problems) != 2 {
		t.Error(problems)
	}
}
