package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A row is one value of the chart as its README shows it.
type row struct {
	key, fallback, about, example string
}

// A section is what stands under one "# @section -- Title" of values.yaml.
type section struct {
	title string
	rows  []row
}

// TestReadmeHasTheValues holds that the tables of the chart's README are made of
// the comments of values.yaml.
func TestReadmeHasTheValues(t *testing.T) {
	const mark = "go test ./deploy -update -->\n"
	path := chart + "/README.md"
	before, _, ok := bytes.Cut(read(t, path), []byte(mark))
	if !ok {
		t.Fatalf("%s has no line that ends with %q", path, mark)
	}
	var page strings.Builder
	page.Write(before)
	page.WriteString(mark)
	for _, s := range sections(t) {
		s.write(&page)
	}
	same(t, path, []byte(page.String()))
}

// write writes a table, and the examples below it.
func (s section) write(w *strings.Builder) {
	fmt.Fprintf(w, "\n### %s\n\n| value | default | meaning |\n|---|---|---|\n", s.title)
	for _, r := range s.rows {
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", r.key, r.fallback, strings.ReplaceAll(r.about, "|", `\|`))
	}
	for _, r := range s.rows {
		if r.example != "" {
			fmt.Fprintf(w, "\n```yaml\n%s```\n", nested(r.key, r.example))
		}
	}
}

// nested is an example below its dotted key, as YAML.
func nested(key, example string) string {
	parts := strings.Split(key, ".")
	for _, part := range slices.Backward(parts) {
		var inner strings.Builder
		for line := range strings.Lines(example) {
			inner.WriteString("  " + line)
		}
		example = part + ":\n" + inner.String()
	}
	return example
}

// sections reads values.yaml. Every value has a comment, or is a mapping whose
// values all have one.
func sections(t *testing.T) []section {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal(read(t, chart+"/values.yaml"), &document); err != nil {
		t.Fatal(err)
	}
	var all []section
	root := document.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		comment := parseComment(key.HeadComment)
		if comment.section != "" {
			all = append(all, section{title: comment.section})
		}
		if len(all) == 0 {
			t.Fatalf("values.yaml:%d: %s stands before the first section", key.Line, key.Value)
		}
		last := &all[len(all)-1]
		last.rows = append(last.rows, rows(t, "", key, value)...)
	}
	return all
}

// rows are the values at and below a key.
func rows(t *testing.T, before string, key, value *yaml.Node) []row {
	t.Helper()
	comment := parseComment(key.HeadComment)
	if comment.about != "" {
		r := row{key: before + key.Value, fallback: compact(t, value), about: comment.about, example: comment.example}
		below := commented(value)
		if !below {
			return []row{r}
		}
		r.fallback = ""
		return append([]row{r}, children(t, before, key, value)...)
	}
	if value.Kind != yaml.MappingNode || len(value.Content) == 0 {
		t.Errorf("values.yaml:%d: %s%s has no comment", key.Line, before, key.Value)
		return nil
	}
	return children(t, before, key, value)
}

func children(t *testing.T, before string, key, value *yaml.Node) []row {
	t.Helper()
	var all []row
	for i := 0; i < len(value.Content); i += 2 {
		all = append(all, rows(t, before+key.Value+".", value.Content[i], value.Content[i+1])...)
	}
	return all
}

// commented reports whether the values of a mapping have comments of their own.
func commented(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) > 0 && parseComment(n.Content[0].HeadComment).about != ""
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
