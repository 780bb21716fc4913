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

// A targetsFile is what the targets file says.
type targetsFile struct {
	shared     *source // of all targets
	targets    []*source
	objectives []*source
	whole      bool // it was read without a problem, or there is none
}

// A document is the YAML of a file. Its values become texts, which are parsed as those of variables are: a YAML decoder
// would stop at the first wrong one, quote secrets, and take on, none and 10s for other things.
type document struct {
	*loader
	path  string
	label string // of the setting that names the file
}

// file reads the targets file at path, if one is given. label is the place of problems with the path.
func (l *loader) file(path, label string) targetsFile {
	d := document{l, path, label}
	read := targetsFile{shared: d.source(0), whole: path == ""}
	if path == "" {
		return read
	}
	data, err := l.ReadFile(path)
	if err != nil {
		return read // a problem of the setting: see missingFiles
	}
	before := len(l.problems)
	for name, value := range d.parse(data) {
		switch name {
		case "targets":
			read.targets = d.list(value, l.target)
		case "objectives":
			read.objectives = d.list(value, l.objective)
		default:
			d.setting(name, value, read.shared, l.shared, "targets", "objectives")
		}
	}
	read.whole = len(l.problems) == before
	return read
}

// parse returns the values of a file by their keys.
func (d document) parse(data []byte) map[string]yaml.Node {
	if len(data) > maxTargets {
		d.problem(d.label, "has more than 2 MiB", "want a targets file")
		return nil
	}
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&root)
	if err == nil {
		err = decoder.Decode(&second)
		if err == nil {
			d.problem(d.at(second), "a second document begins", "want one document")
		}
	}
	if !errors.Is(err, io.EOF) {
		d.broken(err)
	}
	return d.mapping(root)
}

func (d document) at(n yaml.Node) string { return fmt.Sprintf("%s:%d", d.path, n.Line) }

// source returns an empty source, for a mapping that begins on a line.
func (d document) source(line int) *source {
	s := newSource("", nil)
	s.lines, s.folder = map[string]int{}, filepath.Dir(d.path)
	s.place = func(name string) string {
		return fmt.Sprintf("%s:%d: %s", d.path, cmp.Or(s.lines[name], line), strings.ToLower(name))
	}
	return s
}

var (
	yamlError  = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line ([0-9]+): )?(.*)$`)
	yamlQuoted = regexp.MustCompile("(?s)['\"`]..+['\"`]") // a single character is no secret
	yamlShape  = regexp.MustCompile(`(?s)^cannot unmarshal !!(\w+).* into (.*)$`)
)

// broken reports an error of the YAML parser without its quotations: what looks like an anchor may be somebody's key.
func (d document) broken(err error) {
	var lines []string
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		lines = wrong.Errors
	} else if err != nil {
		lines = []string{err.Error()}
	}
	for _, line := range lines {
		found := yamlError.FindStringSubmatch(line)
		text, hint := "not YAML: "+strings.Join(strings.Fields(yamlQuoted.ReplaceAllString(found[2], "'…'")), " "), ""
		if key, line, twice := d.givenTwice(found[2]); twice {
			text, hint = fmt.Sprintf("the key %s is already given on line %s", key, line), "keep one of them"
		}
		if shape := yamlShape.FindStringSubmatch(found[2]); shape != nil {
			text = "is " + cmp.Or(map[string]string{"seq": "a list", "map": "a mapping"}[shape[1]], "a single value")
			wanted := map[string]string{"string": "one value", "[]yaml.Node": "a list", "map[string]yaml.Node": "a mapping"}
			hint = "want " + wanted[shape[2]]
		}
		d.problem(strings.TrimSuffix(d.path+":"+found[1], ":"), text, hint)
	}
}

var yamlTwice = regexp.MustCompile(`^mapping key "([a-zA-Z0-9_]+)" already defined at line ([0-9]+)$`)

// givenTwice reports which key an error of the YAML parser names as given twice, and on which line before. A key that
// is no setting is not named: it may be a secret.
func (d document) givenTwice(text string) (key, line string, ok bool) {
	found := yamlTwice.FindStringSubmatch(text)
	if found == nil {
		return "", "", false
	}
	_, setting := slices.Concat(d.target, d.objective).find(strings.ToUpper(found[1]))
	isList := found[1] == "targets" || found[1] == "objectives"
	return found[1], found[2], setting || isList
}

// mapping is the values of n by their keys. A value has the line of its key.
func (d document) mapping(n yaml.Node) (all map[string]yaml.Node) {
	d.broken(n.Decode(&all))
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

// list returns the entries of a list.
func (d document) list(n yaml.Node, known keys) (entries []*source) {
	var nodes []yaml.Node
	d.broken(n.Decode(&nodes))
	for _, node := range nodes {
		all := d.mapping(node)
		if all == nil {
			continue
		}
		s := d.source(node.Line)
		for name, value := range all {
			d.setting(name, value, s, known)
		}
		entries = append(entries, s)
	}
	return entries
}

// setting reads the value of a key, which must be one of known or, elsewhere in the file, of also.
func (d document) setting(name string, n yaml.Node, into *source, known keys, also ...string) {
	at := slices.IndexFunc(known, func(k Key) bool { return k.keyName() == name })
	if at < 0 {
		d.unknownKey(name, n, known, also)
		return
	}
	k := known[at]
	into.lines[k.name] = n.Line
	if k.name == "HEADERS" {
		d.headers(n, into)
		return
	}
	var text *string
	err := n.Decode(&text)
	switch {
	case err != nil:
		d.broken(err)
		into.values[k.name], into.wrong[k.name] = "", true
	case text != nil:
		into.values[k.name] = strings.TrimSpace(*text)
	}
}

// unknownKey reports a key that is not known, and where it belongs. It quotes only what may be a key: the rest may be a
// secret.
func (d document) unknownKey(name string, n yaml.Node, known keys, words []string) {
	hint, word, upper := "", keyStart.FindString(name), strings.ToUpper(name)
	if name == "objectives" {
		d.problem(d.at(n), "objectives hold for all targets of the file", "move it to the top level")
		return
	}
	if name == "interval" {
		d.problem(d.at(n), "unknown key "+quote(name)+" (did you mean qps?)", intervalHint)
		return
	}
	if k, ok := d.prober.find(upper); ok {
		hint = "set " + k.Variable
	} else if _, ok := d.own.find(upper); ok {
		hint = "it belongs to an entry of targets"
	}
	for _, k := range known {
		words = append(words, strings.ToLower(k.name))
	}
	if word != name {
		word += "…"
	}
	d.problem(d.at(n), "unknown key "+quote(word)+usage.Suggestion(name, words), hint)
}

// intervalHint is for those who look for a time between probes.
const intervalHint = "every 10 s is qps: 0.1"

var keyStart = regexp.MustCompile(`^[a-zA-Z0-9_-]{0,40}`)

// headers reads a mapping of headers, as lines of NAME=value.
func (d document) headers(n yaml.Node, into *source) {
	found, before, all := Headers{}, len(d.problems), d.mapping(n)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var text string
		value := all[name]
		d.broken(value.Decode(&text))
		if wrong := found.add(name, strings.TrimSpace(text)); wrong != "" {
			d.problem(d.at(value), wrong, "want name: value")
		}
		lines = append(lines, name+"="+text+"\n")
	}
	into.values["HEADERS"] = strings.Join(lines, "")
	if len(d.problems) > before {
		into.values["HEADERS"], into.wrong["HEADERS"] = "", true
	}
}
