package config

import (
	"bytes"
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

// ReadFile reads a file that the configuration names. More than 64 MiB, as of a device without end, is an error.
func ReadFile(path string) (data []byte, err error) {
	const maxFile = 64 << 20   // bytes; data sets are the longest
	file, err := os.Open(path) //nolint:gosec // the user named it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, maxFile+1))
	if len(data) > maxFile {
		return nil, errors.New("has more than 64 MiB")
	}
	return data, err
}

// maxTargets bounds the targets file, in bytes: some 10,000 targets. As YAML it takes many times its size.
const maxTargets = 2 << 20

// A targetsFile is what the targets file says.
type targetsFile struct {
	shared     *origin // of all targets
	targets    []*origin
	objectives []*origin
	whole      bool // it was read without a problem, or there is none
}

// A document is the YAML of the targets file, or a part of it. Its values become texts, which are parsed as those of
// variables are: a YAML decoder would stop at the first wrong one, quote secrets, and take on, none and 10s for other
// things.
type document struct {
	path     string
	settings schema
	problems *usage.Problems
	isMerged bool // it is the value of a merge key, <<
}

// lists read what stands under the keys of a mapping that are no settings.
type lists map[string]func(list pair)

// readTargetsFile reads the targets file, if there is one.
func (l *loader) readTargetsFile() targetsFile {
	path := l.config.TargetsFile
	read := targetsFile{shared: newOrigin(l.settings.shared, nil), whole: path == ""}
	if path == "" {
		return read
	}
	data, err := l.ReadFile(path)
	switch {
	case err != nil:
		l.prober.problem("TARGETS_FILE", err.Error(), "")
		return read
	case len(data) > maxTargets:
		l.prober.problem("TARGETS_FILE", "has more than 2 MiB", "want a targets file")
		return read
	}
	before := len(l.problems)
	d := document{path: path, settings: l.settings, problems: &l.problems}
	root := d.parse(data)
	d.mapping(pair{root, root}, read.shared, lists{
		"targets":    func(list pair) { read.targets = d.entries(list, l.settings.target) },
		"objectives": func(list pair) { read.objectives = d.entries(list, l.settings.objective) },
	})
	read.whole = len(l.problems) == before
	return read
}

var (
	yamlError     = regexp.MustCompile(`(?s)^yaml: (?:line ([0-9]+): )?(.*)$`)
	yamlQuotation = regexp.MustCompile("(?s)['\"`]..+['\"`]") // a single character is no secret
)

// parse returns the root of the only document in data; an empty node where that is not YAML. An error of the parser is
// reported without its quotations: what looks like an anchor may be somebody's key.
func (d document) parse(data []byte) *yaml.Node {
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&root)
	if err == nil {
		err = decoder.Decode(&second)
		if err == nil {
			d.problem(&second, "a second document begins", "want one document")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		found := yamlError.FindStringSubmatch(err.Error())
		text := strings.Join(strings.Fields(yamlQuotation.ReplaceAllString(found[2], "'…'")), " ")
		d.problems.Add(strings.TrimSuffix(d.path+":"+found[1], ":"), "not YAML: "+text, "")
	}
	if root.Kind == yaml.DocumentNode {
		return root.Content[0]
	}
	return &yaml.Node{}
}

func (d document) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", d.path, n.Line) }

func (d document) problem(n *yaml.Node, text, hint string) { d.problems.Add(d.at(n), text, hint) }

// A pair is a key of a mapping and its value. Problems with the value are on the line of the key.
type pair struct{ key, value *yaml.Node }

// shaped returns the value of p, or what it is an alias of, if it is of a kind: a single value, a list or a mapping. For
// null it returns an empty node. Everything else is a problem, and ok is false.
func (d document) shaped(p pair, kind yaml.Kind) (n *yaml.Node, ok bool) {
	n = p.value
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return &yaml.Node{}, true
	}
	if n.Kind == kind {
		return n, true
	}
	is := map[yaml.Kind]string{
		yaml.ScalarNode: "a single value", yaml.SequenceNode: "a list", yaml.MappingNode: "a mapping",
	}
	want := map[yaml.Kind]string{
		yaml.ScalarNode: "one value", yaml.SequenceNode: "a list", yaml.MappingNode: "a mapping",
	}
	d.problem(p.key, "is "+is[n.Kind], "want "+want[kind])
	return &yaml.Node{}, false
}

// pairs returns what is in a mapping, in its order. Keys that are no single value are problems.
func (d document) pairs(p pair) (all []pair, ok bool) {
	n, ok := d.shaped(p, yaml.MappingNode)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if _, single := d.shaped(pair{key, key}, yaml.ScalarNode); single {
			all = append(all, pair{key, value})
		}
	}
	return all, ok
}

// entries returns the entries of a list of targets or objectives.
func (d document) entries(list pair, known keys) (entries []*origin) {
	n, _ := d.shaped(list, yaml.SequenceNode)
	for _, node := range n.Content {
		at := d.at(node) + ": "
		from := newOrigin(known, func(name string) string { return at + strings.ToLower(name) })
		from.naming = "give it a name of its own (name: …)"
		entry := d
		entry.problems = &from.problems
		if !entry.mapping(pair{node, node}, from, nil) {
			from.wrong["URL"] = true // so that it is not told to be missing as well
		}
		entries = append(entries, from)
	}
	return entries
}

// mapping reads a mapping of settings into from. ok is false if it is none.
func (d document) mapping(p pair, from *origin, others lists) (ok bool) {
	says := layer{}
	lines := map[string]int{} // of the keys so far
	pairs, ok := d.pairs(p)
	for _, p := range pairs {
		name := p.key.Value
		k, isSetting := from.keys.find(strings.ToUpper(name))
		isSetting = isSetting && name == k.fileKey()
		readList, isList := others[name]
		line, twice := lines[name]
		lines[name] = p.key.Line
		switch {
		case name == "<<" && !d.isMerged:
			merged := d
			merged.isMerged = true
			merged.mapping(p, from, nil)
		case !isSetting && !isList:
			d.unknownKey(p.key, from.keys, others)
		case twice:
			d.problem(p.key, fmt.Sprintf("the key %s is already given on line %d", name, line), "keep one of them")
			from.wrong[k.name] = true
		case isList:
			readList(p)
		case name == "headers":
			d.headers(p, from, says)
		default:
			d.setting(k, p, from, says)
		}
	}
	from.says = merge(from.says, says) // a mapping beats what is merged into it
	return ok
}

// setting reads the value of a setting into says.
func (d document) setting(k Key, p pair, from *origin, says layer) {
	n, ok := d.shaped(p, yaml.ScalarNode)
	text := strings.TrimSpace(n.Value)
	switch {
	case !ok:
		from.wrong[k.name] = true
		return
	case n.Kind == 0: // null says nothing
		return
	case k.Type == "file" && text != "" && !filepath.IsAbs(text):
		text = filepath.Join(filepath.Dir(d.path), text)
	}
	says[k.name] = value{text, d.at(p.key) + ": " + k.fileKey()}
}

// headers reads a mapping of headers into says, as lines of NAME=value.
func (d document) headers(p pair, from *origin, says layer) {
	pairs, ok := d.pairs(p)
	found, lines := Headers{}, ""
	for _, header := range pairs {
		n, single := d.shaped(header, yaml.ScalarNode)
		name, text := header.key.Value, strings.TrimSpace(n.Value)
		wrong := found.add(name, text)
		if wrong != "" {
			d.problem(header.key, wrong, "want name: value")
		}
		ok = ok && single && wrong == ""
		lines += name + "=" + text + "\n"
	}
	if !ok {
		from.wrong["HEADERS"] = true
		return
	}
	says["HEADERS"] = value{lines, d.at(p.key) + ": headers"}
}

// intervalHint is for those who look for a time between probes.
const intervalHint = "every 10 s is qps: 0.1"

var keyStart = regexp.MustCompile(`^[a-zA-Z0-9_-]{0,40}`)

// unknownKey reports a key that is not known, and where it belongs. It quotes only what may be a key: the rest may be a
// secret.
func (d document) unknownKey(key *yaml.Node, known keys, others lists) {
	name := key.Value
	word := keyStart.FindString(name)
	if word != name {
		word += "…"
	}
	hint, upper := "", strings.ToUpper(name)
	ofProber, isProber := d.settings.prober.find(upper)
	_, isTarget := d.settings.own.find(upper)
	switch {
	case name == "objectives":
		d.problem(key, "objectives hold for all targets of the file", "move it to the top level")
		return
	case name == "interval":
		d.problem(key, "unknown key "+quote(name)+" (did you mean qps?)", intervalHint)
		return
	case isProber:
		hint = "set " + ofProber.Variable
	case isTarget:
		hint = "it belongs to an entry of targets"
	}
	words := slices.Sorted(maps.Keys(others))
	for _, k := range known {
		words = append(words, k.fileKey())
	}
	d.problem(key, "unknown key "+quote(word)+usage.Suggestion(name, words), hint)
}
