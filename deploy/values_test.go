package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestReadmeHasTheValues holds that the tables of the chart's README are made of
// the comments of values.yaml.
func TestReadmeHasTheValues(t *testing.T) {
	const mark = "go test ./deploy -update -->\n"
	path := chart + "/README.md"
	before, _, ok := bytes.Cut(read(t, path), []byte(mark))
	if !ok {
		t.Fatalf("%s has no line that ends with %q", path, mark)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(read(t, chart+"/values.yaml"), &document); err != nil {
		t.Fatal(err)
	}
	var page tables
	page.rows(t, "", document.Content[0])
	page.WriteString(page.examples)
	want := string(before) + mark + page.String()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(read(t, path)) != want {
		t.Errorf("%s is out of date: go test ./deploy -update", path)
	}
}

// tables are those of the README: one for each section of values.yaml.
type tables struct {
	strings.Builder

	examples string // of the section, which come below its table
}

// rows writes a row for each value of a mapping that has a comment, and for those below it; each value must have one, or be
// a mapping whose values all have one.
func (w *tables) rows(t *testing.T, before string, mapping *yaml.Node) {
	t.Helper()
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name, c := before+key.Value, parseComment(key.HeadComment)
		below := value.Kind == yaml.MappingNode && len(value.Content) > 0 && (c.about == "" || parseComment(value.Content[0].HeadComment).about != "")
		if c.section != "" {
			fmt.Fprintf(w, "%s\n### %s\n\n| value | default | meaning |\n|---|---|---|\n", w.examples, c.section)
			w.examples = ""
		}
		switch {
		case c.about != "" && below:
			fmt.Fprintf(w, "| `%s` |  | %s |\n", name, strings.ReplaceAll(c.about, "|", `\|`))
		case c.about != "":
			fmt.Fprintf(w, "| `%s` | %s | %s |\n", name, compact(t, value), strings.ReplaceAll(c.about, "|", `\|`))
		case !below:
			t.Errorf("values.yaml:%d: %s has no comment", key.Line, name)
		}
		if c.example != "" {
			w.examples += fmt.Sprintf("\n```yaml\n%s```\n", nested(name, c.example))
		}
		if below {
			w.rows(t, name+".", value)
		}
	}
}

// nested is an example below its dotted key, as YAML.
func nested(key, example string) string {
	for _, part := range slices.Backward(strings.Split(key, ".")) {
		example = part + ":\n  " + strings.ReplaceAll(strings.TrimSuffix(example, "\n"), "\n", "\n  ") + "\n"
	}
	return example
}

// compact is a value on one line.
func compact(t *testing.T, n *yaml.Node) string {
	t.Helper()
	var v any
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return "`" + string(data) + "`"
}

// A comment is what stands above a value, in the manner of helm-docs.
type comment struct {
	section string // # @section -- Title
	about   string // # -- text, over several lines
	example string // # @example -- and then YAML
}

// parseComment reads the last paragraph of a comment, and the section before it.
func parseComment(head string) comment {
	var c comment
	var into *string
	for line := range strings.Lines(head) {
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "), "\n")
		switch {
		case strings.HasPrefix(text, "@section -- "):
			c.section, into = strings.TrimPrefix(text, "@section -- "), nil
		case strings.HasPrefix(text, "@example --"):
			into = &c.example
		case strings.HasPrefix(text, "-- "):
			c.about, into = strings.TrimPrefix(text, "-- "), &c.about
		case into == &c.about && text != "":
			c.about += " " + text
		case into == &c.example && text != "":
			c.example += text + "\n"
		}
	}
	return c
}
