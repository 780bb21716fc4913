// Generate writes the dashboards of the package dashboards: go run ./dashboards/generate
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

// dashboards are all of them.
func dashboards() []*dashboard { return []*dashboard{overview(), target(), compare(), instrument()} }

// write writes each dashboard into dir, as the file of its uid.
func write(dir string) error {
	for _, b := range dashboards() {
		text, err := encode(b)
		if err != nil {
			return fmt.Errorf("dashboard %s: %w", b.UID, err)
		}
		if err := os.WriteFile(filepath.Join(dir, fileOf(b)), text, 0o644); err != nil { //nolint:gosec // for everybody
			return err
		}
	}
	return nil
}

// fileOf is prober-overview's overview.json.
func fileOf(b *dashboard) string { return strings.TrimPrefix(b.UID, "prober-") + ".json" }

// encode is the dashboard as Grafana reads it.
func encode(b *dashboard) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b)
	return out.Bytes(), err
}
