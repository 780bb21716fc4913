package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxTargets bounds the targets file, in bytes: some 10,000 targets. As YAML it
// takes many times its size, and one that is none may have a problem each line.
const maxTargets = 2 << 20

// A fileReader reads the targets file. It is strict: what it does not know is
// a problem. Problems with a value stand at its line.
type fileReader struct {
	*loader
	path string
}

// file reads the targets file at path, if one is given.
func (l *loader) file(path source) layer {
	read := layer{values: values{}}
	if path.text == "" {
		return read
	}
	data, err := l.ReadFile(path.text)
	if err != nil {
		l.problem(path.label, reason(err), "")
		return read
	}
	if len(data) > maxTargets {
		l.problem(path.label, "has more than 2 MiB", "want a targets file")
		return read
	}
	r := fileReader{loader: l, path: path.text}
	if root := r.parse(data); root != nil {
		r.top(root, &read)
	}
	l.check(read.values, new(Settings), sharedScope)
	return read
}

// at is the place of a line.
func (r fileReader) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.path, n.Line) }

// parse returns the root of the one document in data, nil if there is none or
// it is not YAML.
func (r fileReader) parse(data []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) || len(document.Content) == 0 && err == nil {
		return nil
	} else if err != nil {
		r.syntax(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		r.problem(r.at(&second), "a second document begins", "want one document")
	case !errors.Is(err, io.EOF):
		r.syntax(err)
	}
	if root := document.Content[0]; root.ShortTag() != "!!null" {
		return root
	}
	return nil
}

var (
	yamlLine   = regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): `)
	yamlQuoted = regexp.MustCompile(`(?s)'.*'`)
)

// syntax reports an error of the YAML parser. Its quotations are left out:
// what looks like an anchor may be somebody's key.
func (r fileReader) syntax(err error) {
	place, text := r.path, err.Error()
	if found := yamlLine.FindStringSubmatch(text); found != nil {
		place, text = r.path+":"+found[1], text[len(found[0]):]
	}
	text = yamlQuoted.ReplaceAllString(strings.TrimPrefix(text, "yaml: "), "'…'")
	r.problem(place, "not YAML: "+strings.Join(strings.Fields(text), " "), "")
}

// top reads the root mapping.
func (r fileReader) top(root *yaml.Node, into *layer) {
	lists := []string{strings.ToLower(targetList), strings.ToLower(objectiveList)}
	for name, n := range r.pairs(root, "the file") {
		switch name.Value {
		case lists[0]:
			into.targets = list[Target](r, n, name.Value, targetScope, sharedScope)
		case lists[1]:
			into.objectives = list[Objective](r, n, name.Value, objectiveScope)
		default:
			r.one(name, n, into.values, lists, sharedScope)
		}
	}
}

// list reads a list of mappings with keys of scopes.
func list[T any](r fileReader, n *yaml.Node, name string, scopes ...scope) []item {
	n = follow(n)
	if n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.problem(r.at(n), name+" is "+shape(n), "want a list")
		return nil
	}
	var items []item
	for _, entry := range n.Content {
		read := values{}
		for name, n := range r.pairs(entry, "an entry of "+name) {
			r.one(name, n, read, nil, scopes...)
		}
		if follow(entry).Kind == yaml.MappingNode {
			r.check(read, new(T), scopes...)
			items = append(items, item{values: read, place: r.at(entry) + ": ", spell: strings.ToLower})
		}
	}
	return items
}

// pairs yields the keys and values of a mapping, each key once.
func (r fileReader) pairs(n *yaml.Node, what string) func(yield func(name, n *yaml.Node) bool) {
	return func(yield func(name, n *yaml.Node) bool) {
		m := follow(n)
		if m.Kind != yaml.MappingNode {
			r.problem(r.at(n), what+" is "+shape(m), "want a mapping")
			return
		}
		first := map[string]int{}
		for i := 0; i < len(m.Content); i += 2 {
			name := m.Content[i]
			if name.Kind != yaml.ScalarNode {
				r.problem(r.at(name), "a key is "+shape(name), "want a word")
				continue
			}
			if line, twice := first[name.Value]; twice {
				r.problem(r.at(name), fmt.Sprintf("a key that already stands on line %d", line), "want each key once")
				continue
			}
			first[name.Value] = name.Line
			if !yield(name, m.Content[i+1]) {
				return
			}
		}
	}
}

// one reads the value of the key called name, which must be one of scopes. also
// are words that are known beside them.
func (r fileReader) one(name, n *yaml.Node, into values, also []string, scopes ...scope) {
	f, ok := r.schema.find(strings.ToUpper(name.Value), scopes...)
	if !ok || strings.ToLower(f.name) != name.Value {
		r.unknown(name, also, scopes)
		return
	}
	label := r.at(n) + ": " + name.Value
	n = follow(n)
	switch {
	case n.ShortTag() == "!!null":
	case f.Type == reflect.TypeFor[Headers]():
		into[f.name] = r.headers(name, n)
	case n.Kind == yaml.ScalarNode:
		into[f.name] = r.take(f, label, strings.TrimSpace(n.Value))
	default:
		r.problem(label, "is "+shape(n), "want one value")
		into[f.name] = source{label: label, bad: true}
	}
}

// unknown reports a key that is neither one of scopes nor of also, and where it
// belongs if it is one of another place.
func (r fileReader) unknown(name *yaml.Node, also []string, scopes []scope) {
	hint := ""
	if f, ok := r.schema.find(strings.ToUpper(name.Value), targetScope, proberScope); ok {
		hint = "it belongs to an entry of targets"
		if f.scope == proberScope {
			hint = "set " + prefix + f.name
		}
	}
	known := also
	for _, f := range r.schema.in(scopes...) {
		known = append(known, strings.ToLower(f.name))
	}
	r.problem(r.at(name), "unknown key "+quoteKey(name.Value)+suggestion(name.Value, known), hint)
}

// quoteKey is what may be a key of a word that is none: whoever writes api_key=sk-1
// would else see a secret printed.
func quoteKey(word string) string {
	const longest = 40
	rest := strings.TrimLeft(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
	if end := min(len(word)-len(rest), longest); end < len(word) {
		word = word[:end] + "…"
	}
	return quote(word)
}

// headers reads a mapping of headers into a line each.
func (r fileReader) headers(name, n *yaml.Node) source {
	s := source{label: r.at(name) + ": " + name.Value}
	found := Headers{}
	before := len(r.problems)
	for name, n := range r.pairs(n, name.Value) {
		if n = follow(n); n.Kind != yaml.ScalarNode {
			r.problem(r.at(n), "a header is "+shape(n), "want text")
		} else if err := found.add(name.Value, strings.TrimSpace(n.Value)); err != nil {
			r.problem(r.at(name), err.Error(), "want name: value")
		}
		s.text += name.Value + "=" + n.Value + "\n"
	}
	s.bad = len(r.problems) > before
	return s
}

// follow returns what an alias stands for, and n if it is none.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// shape says what n is, as the end of a sentence.
func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return "a single value"
}
