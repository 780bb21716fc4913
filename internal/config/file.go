package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

const maxFile = 64 << 20 // bytes; books and data sets are the longest

// ErrPipe is the error of a ReadFile that does not wait for another process to write
// to a pipe.
var ErrPipe = errors.New("is not a regular file, and others are read only at the start")

var errTooLarge = errors.New("has more than 64 MiB")

// ReadFile reads a file that the configuration names. One of more than 64 MiB, a
// device that never ends for example, is an error, and no more of it is read.
func ReadFile(path string) (data []byte, err error) {
	file, err := os.Open(path) //nolint:gosec // the user named it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, maxFile+1))
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	return data, err
}

// reason is err without the name of the file.
func reason(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// maxTargets bounds the targets file, in bytes: some 10,000 targets. As YAML it
// takes many times its size, and one that is none may have a problem each line.
const maxTargets = 2 << 20

// file reads the targets file at path, if one is given. Keys that it does not know are problems. whole is false
// if the file could not be read in full.
func (l *loader) file(path source) (read layer, whole bool) {
	read.values = values{}
	if path.text == "" {
		return read, true
	}
	data, err := l.ReadFile(path.text)
	if err != nil {
		return read, false // a problem of the setting, see checkText
	}
	before := len(l.problems)
	l.path = path.text
	if len(data) > maxTargets {
		l.problem(path.label, "has more than 2 MiB", "want a targets file")
	} else if root := l.root(data); root != nil && root.ShortTag() != "!!null" {
		l.top(root, &read)
	}
	return read, len(l.problems) == before
}

// at is the place of a line.
func (l *loader) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", l.path, n.Line) }

// root is that of the one document in data, nil if there is none or it is not YAML.
func (l *loader) root(data []byte) *yaml.Node {
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&document)
	if err == nil {
		err = decoder.Decode(&second)
	}
	switch {
	case err == nil:
		l.problem(l.at(&second), "a second document begins", "want one document")
	case !errors.Is(err, io.EOF):
		l.syntax(err)
	case len(document.Content) > 0:
		return document.Content[0]
	}
	return nil
}

var (
	yamlError  = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line ([0-9]+): )?(.*)$`)
	yamlQuoted = regexp.MustCompile(`(?s)'.*'`)
)

// syntax reports an error of the YAML parser. Its quotations are left out:
// what looks like an anchor may be somebody's key.
func (l *loader) syntax(err error) {
	found := yamlError.FindStringSubmatch(err.Error())
	text := strings.Join(strings.Fields(yamlQuoted.ReplaceAllString(found[2], "'…'")), " ")
	l.problem(strings.TrimSuffix(l.path+":"+found[1], ":"), "not YAML: "+text, "")
}

// top reads the root mapping.
func (l *loader) top(root *yaml.Node, into *layer) {
	for _, p := range l.pairs(root, "the file") {
		switch p.name.Value {
		case "targets":
			into.targets = l.list(p, l.target)
		case "objectives":
			into.objectives = l.list(p, l.objective)
		default:
			l.one(p, into.values, l.shared, "targets", "objectives")
		}
	}
}

// list reads a list of mappings with the settings of known.
func (l *loader) list(p pair, known keys) (items []item) {
	n := follow(p.value)
	if n.Kind != yaml.SequenceNode && n.ShortTag() != "!!null" {
		l.problem(l.at(n), p.name.Value+" is "+shape(n), "want a list")
		return nil
	}
	for _, entry := range n.Content {
		it := item{values: values{}, line: l.at(entry) + ": ", spell: strings.ToLower}
		for _, p := range l.pairs(entry, "an entry of "+p.name.Value) {
			l.one(p, it.values, known)
		}
		if follow(entry).Kind == yaml.MappingNode {
			items = append(items, it)
		}
	}
	return items
}

// A pair is a key of a mapping and its value.
type pair struct{ name, value *yaml.Node }

// pairs returns the keys and values of a mapping, each key once.
func (l *loader) pairs(n *yaml.Node, what string) (pairs []pair) {
	m := follow(n)
	if m.Kind != yaml.MappingNode {
		l.problem(l.at(n), what+" is "+shape(m), "want a mapping")
		return nil
	}
	first := map[string]int{}
	for i := 0; i < len(m.Content); i += 2 {
		name := m.Content[i]
		line, twice := first[name.Value]
		switch {
		case name.Kind != yaml.ScalarNode:
			l.problem(l.at(name), "a key is "+shape(name), "want a word")
		case twice:
			l.problem(l.at(name), fmt.Sprintf("duplicate key, first given on line %d", line), "want each key once")
		default:
			first[name.Value] = name.Line
			pairs = append(pairs, pair{name, m.Content[i+1]})
		}
	}
	return pairs
}

// one reads the value of a key, which must be one of known or, elsewhere in the file,
// of also.
func (l *loader) one(p pair, into values, known keys, also ...string) {
	k, ok := known.find(strings.ToUpper(p.name.Value))
	label := l.at(p.value) + ": " + p.name.Value
	switch n := follow(p.value); {
	case !ok || strings.ToLower(k.name) != p.name.Value:
		l.unknownKey(p.name, known, also)
	case n.ShortTag() == "!!null":
	case k.field.Type == reflect.TypeFor[Headers]():
		into[k.name] = l.headers(p)
	case n.Kind == yaml.ScalarNode:
		into[k.name] = k.given(label, strings.TrimSpace(n.Value))
	default:
		l.problem(label, "is "+shape(n), "want one value")
		into[k.name] = source{label: label, bad: true}
	}
}

// unknownKey reports a key that is not known, and where it belongs if it is one of
// another place. It quotes only what may be a key: in api_key=sk-1 the rest is a secret.
func (l *loader) unknownKey(name *yaml.Node, known keys, words []string) {
	hint, word, upper := "", keyStart.FindString(name.Value), strings.ToUpper(name.Value)
	if k, ok := l.prober.find(upper); ok {
		hint = "set " + k.Variable
	} else if _, ok := l.own.find(upper); ok {
		hint = "it belongs to an entry of targets"
	}
	for _, k := range known {
		words = append(words, strings.ToLower(k.name))
	}
	if word != name.Value {
		word += "…"
	}
	l.problem(l.at(name), "unknown key "+quote(word)+suggestion(name.Value, words), hint)
}

var keyStart = regexp.MustCompile(`^[a-zA-Z0-9_-]{0,40}`)

// headers reads a mapping of headers into a line each.
func (l *loader) headers(p pair) source {
	s := source{label: l.at(p.name) + ": " + p.name.Value}
	found, before := Headers{}, len(l.problems)
	for _, p := range l.pairs(p.value, p.name.Value) {
		n := follow(p.value)
		if n.Kind != yaml.ScalarNode {
			l.problem(l.at(n), "a header is "+shape(n), "want text")
		} else if err := found.add(p.name.Value, strings.TrimSpace(n.Value)); err != nil {
			l.problem(l.at(p.name), err.Error(), "want name: value")
		}
		s.text += p.name.Value + "=" + n.Value + "\n"
	}
	if len(l.problems) > before {
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
