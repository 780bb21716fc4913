package report

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestCheckingAPictureLeavesNoFile holds that a picture which is never drawn is no
// empty file, and that one from before stays.
func TestCheckingAPictureLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	before, later := filepath.Join(dir, "before.svg"), filepath.Join(dir, "later.html")
	if err := os.WriteFile(before, []byte("a picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(CheckPicture(before), CheckPicture(later)); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(before); string(data) != "a picture" { //nolint:gosec // our own
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(later); !os.IsNotExist(err) {
		t.Errorf("a file is left: %v", err)
	}
	if missing, unknown := CheckPicture(filepath.Join(dir, "no", "x.svg")), CheckPicture("x.png"); missing == nil || unknown == nil {
		t.Error(missing, unknown)
	}
}
