// Generate writes the boards of the package dashboards: go run ./dashboards/generate
// in the root of the repository. A test holds that what is committed is what it
// writes.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := write("dashboards"); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// boards are all of them.
func boards() []*board { return []*board{overview(), target(), compare(), instrument()} }

// write writes each board into dir, as the file of its uid.
func write(dir string) error {
	for _, b := range boards() {
		text, err := encode(b)
		if err != nil {
			return fmt.Errorf("board %s: %w", b.UID, err)
		}
		if err := os.WriteFile(filepath.Join(dir, fileOf(b)), text, 0o644); err != nil { //nolint:gosec // for everybody
			return err
		}
	}
	return nil
}

// fileOf is prober-overview's overview.json.
func fileOf(b *board) string { return strings.TrimPrefix(b.UID, "prober-") + ".json" }

// encode is the board as Grafana reads it.
func encode(b *board) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b)
	return out.Bytes(), err
}
