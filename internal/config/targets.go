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

// A fileReader reads the targets file. Keys that it does not know are problems.
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
	switch r := (fileReader{loader: l, path: path.text}); {
	case err != nil:
		l.problem(path.label, reason(err), "")
	case len(data) > maxTargets:
		l.problem(path.label, "has more than 2 MiB", "want a targets file")
	default:
		if root := r.parse(data); root != nil && root.ShortTag() != "!!null" {
			r.top(root, &read)
		}
		l.check(read.values, l.shared)
	}
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
	yamlError  = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line ([0-9]+): )?(.*)$`)
	yamlQuoted = regexp.MustCompile(`(?s)'.*'`)
)

// syntax reports an error of the YAML parser. Its quotations are left out:
// what looks like an anchor may be somebody's key.
func (r fileReader) syntax(err error) {
	found := yamlError.FindStringSubmatch(err.Error())
	text := strings.Join(strings.Fields(yamlQuoted.ReplaceAllString(found[2], "'…'")), " ")
	r.problem(strings.TrimSuffix(r.path+":"+found[1], ":"), "not YAML: "+text, "")
}

// top reads the root mapping.
func (r fileReader) top(root *yaml.Node, into *layer) {
	for _, p := range r.pairs(root, "the file") {
		switch name := p.name.Value; name {
		case strings.ToLower(targetList):
			into.targets = r.list(p, r.targets)
		case strings.ToLower(objectiveList):
			into.objectives = r.list(p, r.objective)
		default:
			r.one(p, into.values, r.shared, strings.ToLower(targetList), strings.ToLower(objectiveList))
		}
	}
}

// list reads a list of mappings with the settings of known.
func (r fileReader) list(p pair, known keys) (items []item) {
	n := follow(p.value)
	if n.Kind != yaml.SequenceNode && n.ShortTag() != "!!null" {
		r.problem(r.at(n), p.name.Value+" is "+shape(n), "want a list")
	}
	if n.Kind != yaml.SequenceNode {
		return nil
	}
	for _, entry := range n.Content {
		read := values{}
		for _, p := range r.pairs(entry, "an entry of "+p.name.Value) {
			r.one(p, read, known)
		}
		r.check(read, known)
		if follow(entry).Kind == yaml.MappingNode {
			items = append(items, item{values: read, place: r.at(entry) + ": "})
		}
	}
	return items
}

// A pair is a key of a mapping and its value.
type pair struct{ name, value *yaml.Node }

// pairs returns the keys and values of a mapping, each key once.
func (r fileReader) pairs(n *yaml.Node, what string) (pairs []pair) {
	m := follow(n)
	if m.Kind != yaml.MappingNode {
		r.problem(r.at(n), what+" is "+shape(m), "want a mapping")
		return nil
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
			pairs = append(pairs, pair{name, m.Content[i+1]})
		}
	}
	return pairs
}

// one reads the value of a key, which must be one of known or, elsewhere in the file,
// of also.
func (r fileReader) one(p pair, into values, known keys, also ...string) {
	k, ok := known.find(strings.ToUpper(p.name.Value))
	label := r.at(p.value) + ": " + p.name.Value
	switch n := follow(p.value); {
	case !ok || strings.ToLower(k.name) != p.name.Value:
		r.unknownKey(p.name, known, also)
	case n.ShortTag() == "!!null":
	case k.field.Type == reflect.TypeFor[Headers]():
		into[k.name] = r.headers(p)
	case n.Kind == yaml.ScalarNode:
		into[k.name] = k.given(label, strings.TrimSpace(n.Value))
	default:
		r.problem(label, "is "+shape(n), "want one value")
		into[k.name] = source{label: label, bad: true}
	}
}

// unknownKey reports a key that is not known, and where it belongs if it is one of
// another place. It quotes only what may be a key: in api_key=sk-1 the rest is a secret.
func (r fileReader) unknownKey(name *yaml.Node, known keys, words []string) {
	hint, word, upper := "", name.Value, strings.ToUpper(name.Value)
	if k, ok := r.prober.find(upper); ok {
		hint = "set " + k.Variable
	} else if _, ok := r.target.find(upper); ok {
		hint = "it belongs to an entry of targets"
	}
	for _, k := range known {
		words = append(words, strings.ToLower(k.name))
	}
	if start := keyStart.FindString(word); start != word {
		word = start + "…"
	}
	r.problem(r.at(name), "unknown key "+quote(word)+suggestion(name.Value, words), hint)
}

var keyStart = regexp.MustCompile(`^[a-zA-Z0-9_-]{0,40}`)

// headers reads a mapping of headers into a line each.
func (r fileReader) headers(p pair) source {
	s := source{label: r.at(p.name) + ": " + p.name.Value}
	found, before := Headers{}, len(r.problems)
	for _, p := range r.pairs(p.value, p.name.Value) {
		n := follow(p.value)
		if n.Kind != yaml.ScalarNode {
			r.problem(r.at(n), "a header is "+shape(n), "want text")
		} else if err := found.add(p.name.Value, strings.TrimSpace(n.Value)); err != nil {
			r.problem(r.at(p.name), err.Error(), "want name: value")
		}
		s.text += p.name.Value + "=" + n.Value + "\n"
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
