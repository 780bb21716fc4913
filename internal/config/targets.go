package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
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
	if root := r.parse(data); root != nil && root.ShortTag() != "!!null" {
		r.top(root, &read)
	}
	l.check(read.values, new(Settings), l.shared)
	return read
}

// at is the place of a line.
func (r fileReader) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.path, n.Line) }

// parse returns the root of the one document in data, nil if there is none or
// it is not YAML.
func (r fileReader) parse(data []byte) (root *yaml.Node) {
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return root
		case err != nil:
			r.syntax(err)
			return nil
		case root != nil:
			r.problem(r.at(&document), "a second document begins", "want one document")
			return nil
		case len(document.Content) > 0:
			root = document.Content[0]
		}
	}
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
			into.targets = list[Target](r, n, name.Value, r.targets)
		case lists[1]:
			into.objectives = list[Objective](r, n, name.Value, r.objective)
		default:
			r.one(name, n, into.values, r.shared, lists)
		}
	}
}

// list reads a list of mappings with the settings of known.
func list[T any](r fileReader, n *yaml.Node, name string, known keys) (items []item) {
	if n = follow(n); n.Kind != yaml.SequenceNode {
		if n.ShortTag() != "!!null" {
			r.problem(r.at(n), name+" is "+shape(n), "want a list")
		}
		return nil
	}
	for _, entry := range n.Content {
		read := values{}
		for name, n := range r.pairs(entry, "an entry of "+name) {
			r.one(name, n, read, known, nil)
		}
		r.check(read, new(T), known)
		if follow(entry).Kind == yaml.MappingNode {
			items = append(items, item{values: read, place: r.at(entry) + ": "})
		}
	}
	return items
}

// pairs yields the keys and values of a mapping, each key once.
func (r fileReader) pairs(n *yaml.Node, what string) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(name, n *yaml.Node) bool) {
		m := follow(n)
		if m.Kind != yaml.MappingNode {
			r.problem(r.at(n), what+" is "+shape(m), "want a mapping")
			return
		}
		first := map[string]int{}
		for i := 0; i < len(m.Content); i += 2 {
			name := m.Content[i]
			line, twice := first[name.Value]
			switch {
			case name.Kind != yaml.ScalarNode:
				r.problem(r.at(name), "a key is "+shape(name), "want a word")
			case twice:
				r.problem(r.at(name), fmt.Sprintf("duplicate key, first given on line %d", line), "want each key once")
			default:
				first[name.Value] = name.Line
				if !yield(name, m.Content[i+1]) {
					return
				}
			}
		}
	}
}

// one reads the value of the key called name, which must be one of known or, elsewhere
// in the file, of also.
func (r fileReader) one(name, n *yaml.Node, into values, known keys, also []string) {
	k, ok := known.find(strings.ToUpper(name.Value))
	label := r.at(n) + ": " + name.Value
	switch n = follow(n); {
	case !ok || strings.ToLower(k.name) != name.Value:
		r.unknown(name, known, also)
	case n.ShortTag() == "!!null":
	case k.field.Type == reflect.TypeFor[Headers]():
		into[k.name] = r.headers(name, n)
	case n.Kind == yaml.ScalarNode:
		into[k.name] = k.given(label, strings.TrimSpace(n.Value))
	default:
		r.problem(label, "is "+shape(n), "want one value")
		into[k.name] = source{label: label, bad: true}
	}
}

// unknown reports a key that is not known, and where it belongs if it is one of
// another place.
func (r fileReader) unknown(name *yaml.Node, known keys, words []string) {
	hint := ""
	if k, ok := r.prober.find(strings.ToUpper(name.Value)); ok {
		hint = "set " + k.Variable
	} else if _, ok := r.target.find(strings.ToUpper(name.Value)); ok {
		hint = "it belongs to an entry of targets"
	}
	for _, k := range known {
		words = append(words, strings.ToLower(k.name))
	}
	r.problem(r.at(name), "unknown key "+quoteKey(name.Value)+suggestion(name.Value, words), hint)
}

// quoteKey quotes only what may be a key at the start of an unknown one: in api_key=sk-1
// the rest is a secret.
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
	found, before := Headers{}, len(r.problems)
	for name, n := range r.pairs(n, name.Value) {
		if n = follow(n); n.Kind != yaml.ScalarNode {
			r.problem(r.at(n), "a header is "+shape(n), "want text")
		} else if err := found.add(name.Value, strings.TrimSpace(n.Value)); err != nil {
			r.problem(r.at(name), err.Error(), "want name: value")
		}
		s.text += name.Value + "=" + n.Value + "\n"
	}
	if len(r.problems) > before {
		return source{label: s.label, bad: true}
	}
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
	return map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value", yaml.AliasNode: "an alias"}[n.Kind]
}
