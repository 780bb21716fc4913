// Generate writes the dashboards of package dashboards from the YAML files beside it. Run it in the root of the
// repository: go run ./dashboards/generate. A test holds that what is committed is what it writes.
//
// common.yaml explains the short forms of PromQL, model.go the keys. Begin reading at [builder.build].
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/llm-prober/prober/dashboards"
)

//go:embed *.yaml
var files embed.FS

func main() {
	err := write("dashboards")
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write writes all dashboards into a directory.
func write(dir string) error {
	for _, name := range dashboards.Names() {
		text, err := generate(name)
		if err != nil {
			return fmt.Errorf("%s.yaml: %w", name, err)
		}
		path := filepath.Join(dir, name+".json")
		err = os.WriteFile(path, text, 0o644) //nolint:gosec // everybody may read it
		if err != nil {
			return err
		}
	}
	return nil
}

// generate returns the JSON of a dashboard.
func generate(name string) ([]byte, error) {
	var b builder
	err := read("common", &b.common)
	if err != nil {
		return nil, err
	}
	err = read(name, &b.dashboard)
	if err != nil {
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
	err = e.Encode(made)
	return out.Bytes(), err
}

// read reads a YAML file. A key that it does not know is an error.
func read(name string, into any) error {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return d.Decode(into)
}
