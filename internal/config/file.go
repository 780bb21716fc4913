package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/usage"
)

// ReadFile reads a file that the configuration names, as [ReadAll] does.
func ReadFile(path string) (data []byte, err error) {
	file, err := os.Open(path) //nolint:gosec // the user named it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return ReadAll(file)
}

// ReadAll reads all of r. More than 64 MiB, as of a device without end, is an error.
func ReadAll(r io.Reader) ([]byte, error) {
	const maxFile = 64 << 20 // bytes; data sets are the longest
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if len(data) > maxFile {
		return nil, errors.New("has more than 64 MiB")
	}
	return data, err
}

// maxTargets bounds the targets file, in bytes: some 10,000 targets. As YAML it takes many times its size.
const maxTargets = 2 << 20

// file reads the targets file at path, if one is given. whole is false if it could not be read in full.
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
		return read, false
	}
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err = decoder.Decode(&root); err == nil {
		if err = decoder.Decode(&second); err == nil {
			l.problem(l.at(second), "a second document begins", "want one document")
		}
	}
	if !errors.Is(err, io.EOF) {
		l.broken(err)
	}
	for name, value := range l.mapping(root) {
		switch name {
		case "targets":
			read.targets = l.list(value, l.target)
		case "objectives":
			read.objectives = l.list(value, l.objective)
		default:
			l.one(name, value, read.values, l.shared, "targets", "objectives")
		}
	}
	return read, len(l.problems) == before
}

func (l *loader) at(n yaml.Node) string { return fmt.Sprintf("%s:%d", l.path, n.Line) }

var (
	yamlError  = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line ([0-9]+): )?(.*)$`)
	yamlQuoted = regexp.MustCompile("(?s)['\"`]..+['\"`]") // a single character is no secret
	yamlShape  = regexp.MustCompile(`(?s)^cannot unmarshal !!(\w+).* into (.*)$`)
)

// broken reports an error of the YAML parser without its quotations: what looks like an anchor may be somebody's key.
func (l *loader) broken(err error) {
	var lines []string
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		lines = wrong.Errors
	} else if err != nil {
		lines = []string{err.Error()}
	}
	for _, line := range lines {
		found := yamlError.FindStringSubmatch(line)
		text, hint := "not YAML: "+strings.Join(strings.Fields(yamlQuoted.ReplaceAllString(found[2], "'…'")), " "), ""
		if key, line, twice := l.givenTwice(found[2]); twice {
			text, hint = fmt.Sprintf("the key %s is already given on line %s", key, line), "keep one of them"
		}
		if shape := yamlShape.FindStringSubmatch(found[2]); shape != nil {
			text = "is " + cmp.Or(map[string]string{"seq": "a list", "map": "a mapping"}[shape[1]], "a single value")
			hint = "want " + map[string]string{"string": "one value", "[]yaml.Node": "a list", "map[string]yaml.Node": "a mapping"}[shape[2]]
		}
		l.problem(strings.TrimSuffix(l.path+":"+found[1], ":"), text, hint)
	}
}

var yamlTwice = regexp.MustCompile(`^mapping key "([a-zA-Z0-9_]+)" already defined at line ([0-9]+)$`)

// givenTwice reports which key an error of the YAML parser names as given twice, and on which line before. A key that
// is no setting is not named: it may be a secret.
func (l *loader) givenTwice(text string) (key, line string, ok bool) {
	found := yamlTwice.FindStringSubmatch(text)
	if found == nil {
		return "", "", false
	}
	_, setting := slices.Concat(l.target, l.objective).find(strings.ToUpper(found[1]))
	isList := found[1] == "targets" || found[1] == "objectives"
	return found[1], found[2], setting || isList
}

// mapping is the values of n by their keys. A value has the line of its key.
func (l *loader) mapping(n yaml.Node) (all map[string]yaml.Node) {
	l.broken(n.Decode(&all))
	if n.Kind == yaml.DocumentNode {
		n = *n.Content[0]
	}
	for i := 0; i < len(n.Content)-1; i += 2 {
		if value, ok := all[n.Content[i].Value]; ok {
			value.Line = n.Content[i].Line
			all[n.Content[i].Value] = value
		}
	}
	return all
}

func (l *loader) list(n yaml.Node, known keys) (items []item) {
	var entries []yaml.Node
	l.broken(n.Decode(&entries))
	for _, entry := range entries {
		it := item{values: values{}, setting: func(name string) string { return l.at(entry) + ": " + strings.ToLower(name) }}
		all := l.mapping(entry)
		for name, value := range all {
			l.one(name, value, it.values, known)
		}
		if all != nil {
			items = append(items, it)
		}
	}
	return items
}

// one reads the value of a key, which must be one of known or, elsewhere in the file, of also.
func (l *loader) one(name string, n yaml.Node, into values, known keys, also ...string) {
	k, ok := known.find(strings.ToUpper(name))
	label := l.at(n) + ": " + name
	var text *string
	switch {
	case !ok || strings.ToLower(k.name) != name:
		l.unknownKey(name, n, known, also)
	case k.field.Type == reflect.TypeFor[Headers]():
		into[k.name] = l.headers(n, label)
	default:
		if err := n.Decode(&text); err != nil {
			l.broken(err)
			into[k.name] = source{label: label, bad: true}
		} else if text != nil {
			given := k.given(label, strings.TrimSpace(*text))
			if k.Type == "file" {
				given.text = l.besides(given.text)
			}
			into[k.name] = given
		}
	}
}

// besides returns a path that is named in the targets file: relative ones begin at its folder.
func (l *loader) besides(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(l.path), path)
}

// unknownKey reports a key that is not known, and where it belongs. It quotes only what may be a key: the rest may be a secret.
func (l *loader) unknownKey(name string, n yaml.Node, known keys, words []string) {
	hint, word, upper := "", keyStart.FindString(name), strings.ToUpper(name)
	if name == "objectives" {
		l.problem(l.at(n), "objectives hold for all targets of the file", "move it to the top level")
		return
	}
	if name == "interval" {
		l.problem(l.at(n), "unknown key "+quote(name)+" (did you mean qps?)", intervalHint)
		return
	}
	if k, ok := l.prober.find(upper); ok {
		hint = "set " + k.Variable
	} else if _, ok := l.own.find(upper); ok {
		hint = "it belongs to an entry of targets"
	}
	for _, k := range known {
		words = append(words, strings.ToLower(k.name))
	}
	if word != name {
		word += "…"
	}
	l.problem(l.at(n), "unknown key "+quote(word)+usage.Suggestion(name, words), hint)
}

// intervalHint is for those who look for a time between probes.
const intervalHint = "every 10 s is qps: 0.1"

var keyStart = regexp.MustCompile(`^[a-zA-Z0-9_-]{0,40}`)

func (l *loader) headers(n yaml.Node, label string) source {
	s, found, before, all := source{label: label}, Headers{}, len(l.problems), l.mapping(n)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var text string
		n := all[name]
		l.broken(n.Decode(&text))
		if wrong := found.add(name, strings.TrimSpace(text)); wrong != "" {
			l.problem(l.at(n), wrong, "want name: value")
		}
		s.text += name + "=" + text + "\n"
	}
	if len(l.problems) > before {
		return source{label: label, bad: true}
	}
	return s
}
