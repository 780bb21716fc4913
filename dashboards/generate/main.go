// Generate writes the dashboards of the package dashboards from the YAML files beside it: go run ./dashboards/generate
// in the root of the repository. A test holds that what is committed is what it writes.
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

//go:embed *.yaml
var files embed.FS

func main() {
	if err := write("dashboards"); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	for _, name := range []string{"overview", "target", "compare", "instrument"} {
		text, err := generate(name)
		if err != nil {
			return fmt.Errorf("%s.yaml: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644); err != nil { //nolint:gosec // for everybody
			return err
		}
	}
	return nil
}

func generate(name string) ([]byte, error) {
	var b builder
	if err := read("common", &b.common); err != nil {
		return nil, err
	}
	if err := read(name, &b.dashboard); err != nil {
		return nil, err
	}
	made := b.build(name)
	if b.err != nil {
		return nil, b.err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(made)
	return out.Bytes(), err
}

func read(name string, into any) error {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return d.Decode(into)
}
