package rules

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// A row of the table is one fault and the alert about it: when it fires and when it does not. README.md beside the
// tables explains each key.
type row struct {
	Alert   string
	Labels  map[string]string
	Fault   string
	Of      string
	With    []string
	Without []string
	Series  map[string]phases

	Every duration
	Well  duration
	Lasts duration

	Starts duration
	For    *duration
	Ends   duration
	Keep   *duration `yaml:"keep_firing_for"`

	Summary, Description string
}

// String returns the name of the row's test.
func (r row) String() string {
	return strings.TrimSpace(r.Alert + " " + r.Labels["severity"] + ": " + r.Fault)
}

// hasTexts reports whether the row has the alert's texts, and thus also when it begins and ends.
func (r row) hasTexts() bool { return r.Summary != "" }

func (r row) hasHistogram() bool {
	for _, p := range r.Series {
		if p.areHistogram() {
			return true
		}
	}
	return false
}

// A duration is written as Prometheus writes it.
type duration time.Duration

// UnmarshalYAML reads a duration.
func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := parseDuration(node.Value)
	*d = duration(parsed)
	return err
}

// phases are what a series is in each phase: "well", "silent" or "fires", and "repaired".
type phases map[string]string

// UnmarshalYAML reads the phases of a series. What is missing is as "well"; a single value stands for all.
func (p *phases) UnmarshalYAML(node *yaml.Node) error {
	named := map[string]string{"well": node.Value}
	if node.Kind != yaml.ScalarNode {
		clear(named)
		err := node.Decode(&named)
		if err != nil {
			return err
		}
	}
	*p = phases{}
	for _, name := range []string{"well", "silent", "fires", "repaired"} {
		text, ok := named[name]
		if !ok {
			text = named["well"]
		}
		(*p)[name] = text
	}
	for name := range named {
		if _, ok := (*p)[name]; !ok {
			return fmt.Errorf("line %d: a series has no phase %q", node.Line, name)
		}
	}
	return nil
}

func (p phases) areHistogram() bool {
	for _, text := range p {
		if strings.Contains(text, "/m of ") {
			return true
		}
	}
	return false
}

// A table is a file of rows.
type table struct {
	Backgrounds map[string]map[string]phases
	Rows        []row
}

// readRows returns the rows of all tables. Each has the series of its background as well.
func readRows(t *testing.T) []row {
	t.Helper()
	files, err := filepath.Glob("../../alerts/table/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d tables, %v", len(files), err)
	}
	backgrounds := map[string]map[string]phases{}
	var rows []row
	for _, file := range files {
		content, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := yaml.NewDecoder(content)
		decoder.KnownFields(true)
		var read table
		err = decoder.Decode(&read)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		_ = content.Close()
		maps.Copy(backgrounds, read.Backgrounds)
		rows = append(rows, read.Rows...)
	}
	for i, r := range rows {
		background, ok := backgrounds[r.Of]
		if r.Of != "" && !ok {
			t.Fatalf("%s: there is no background %q", r, r.Of)
		}
		all := map[string]phases{}
		maps.Copy(all, background)
		maps.Copy(all, r.Series)
		rows[i].Series = all
	}
	return rows
}
