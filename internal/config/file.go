package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/usage"
)

// ReadFile reads a file that the configuration names. A file of more than 64 MiB, or a device without end, is an error.
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

// maxTargets bounds the size of the targets file, in bytes: some 10,000 targets. Parsed, it takes many times as much.
const maxTargets = 2 << 20

// vantageKey is the key of the only setting of the prober itself that the targets file may have: who writes the file
// for the probers of one place knows which place that is. It is the name of the label, too.
const vantageKey = "vantage"

// A targetsFile is what the targets file says.
type targetsFile struct {
	prober     *origin // the vantage
	shared     *origin // the settings of all targets, and the problems of the file itself
	targets    []*origin
	objectives []*origin
}

// A document is a mapping of the targets file: the whole file, a target or an objective. It takes its values as texts,
// which are parsed as those of variables are. A YAML decoder would stop at the first mistake, quote secrets in errors,
// and give on, none and 10s other meanings.
type document struct {
	path     string
	settings schema
	*origin  // what it says, and what is wrong with it
}

// readTargetsFile reads the targets file, if there is one.
func (l *loader) readTargetsFile() targetsFile {
	path := l.config.TargetsFile
	vantage, _ := l.settings.prober.find(strings.ToUpper(vantageKey))
	file := targetsFile{
		prober: newOrigin(keys{vantage}, variableAt(prefix)),
		shared: newOrigin(l.settings.shared, nil),
	}
	if path == "" {
		return file
	}
	data, err := l.ReadFile(path)
	switch {
	case err != nil:
		l.prober.problem("TARGETS_FILE", err.Error(), "")
		return file
	case len(data) > maxTargets:
		l.prober.problem("TARGETS_FILE", "has more than 2 MiB", "want a targets file")
		return file
	}
	d := document{path, l.settings, file.shared}
	ofProber := document{path, l.settings, file.prober}
	root := d.parse(data)
	d.read(pair{root, root}, map[string]func(pair){
		vantageKey:   func(p pair) { ofProber.setting(vantage, p) },
		"targets":    func(list pair) { file.targets = d.entries(list, true) },
		"objectives": func(list pair) { file.objectives = d.entries(list, false) },
	})
	return file
}

var (
	yamlError     = regexp.MustCompile(`(?s)^yaml: (?:line ([0-9]+): )?(.*)$`)
	yamlQuotation = regexp.MustCompile("(?s)['\"`]..+['\"`]") // a single character is no secret
)

// parse returns the root of the only document in data; an empty node if data is not YAML. It reports errors of the
// parser without their quotations: what looks like an anchor may be somebody's key.
func (d document) parse(data []byte) *yaml.Node {
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&root)
	if err == nil {
		err = decoder.Decode(&second)
		if err == nil {
			d.problemAt(&second, "a second document begins", "want one document")
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

func (d document) place(n *yaml.Node) string { return fmt.Sprintf("%s:%d", d.path, n.Line) }

func (d document) problemAt(n *yaml.Node, text, hint string) { d.problems.Add(d.place(n), text, hint) }

// A pair is a key of a mapping and its value. Problems with the value are reported on the line of the key.
type pair struct{ key, value *yaml.Node }

// shaped returns the value of p, with aliases followed, which must be of a kind: a single value, a list or a mapping.
// For null it returns an empty node. It reports any other value, and ok is false.
func (d document) shaped(p pair, kind yaml.Kind) (n *yaml.Node, ok bool) {
	n = p.value
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case isNull(n):
		return &yaml.Node{}, true
	case n.Kind == kind:
		return n, true
	}
	shapes := map[yaml.Kind]string{
		yaml.ScalarNode: "a single value", yaml.SequenceNode: "a list", yaml.MappingNode: "a mapping",
	}
	d.problemAt(p.key, "is "+shapes[n.Kind], "want "+shapes[kind])
	return &yaml.Node{}, false
}

// pairs returns the pairs of a mapping in their order. It reports keys that are not single values.
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

// entries returns the entries of a list of targets, with their own objectives, or of a list of objectives.
func (d document) entries(list pair, isOfTargets bool) (entries []*origin) {
	known := d.settings.objective
	if isOfTargets {
		known = d.settings.target
	}
	n, _ := d.shaped(list, yaml.SequenceNode)
	for _, node := range n.Content {
		place := d.place(node)
		entry := document{d.path, d.settings, newOrigin(known, func(name string) string {
			return place + ": " + strings.ToLower(name)
		})}
		entry.entry = place
		entry.naming = "give it a name of its own (name: …)"
		lists := map[string]func(list pair){}
		if isOfTargets {
			lists["objectives"] = func(list pair) { entry.objectives = entry.entries(list, false) }
		}
		entry.read(pair{node, node}, lists)
		entries = append(entries, entry.origin)
	}
	return entries
}

// read reads a mapping of settings. A key in others is no setting: its function reads the value.
func (d document) read(mapping pair, others map[string]func(pair)) {
	lines := map[string]int{} // of the keys so far
	pairs, ok := d.pairs(mapping)
	if !ok {
		d.wrong["URL"] = true // so that it is not reported as missing as well
	}
	for _, p := range pairs {
		name := p.key.Value
		k, isSetting := d.keys.find(strings.ToUpper(name))
		isSetting = isSetting && name == k.fileKey() // which is in lower case
		other, isOther := others[name]
		line, twice := lines[name]
		lines[name] = p.key.Line
		switch {
		case isOther && !twice:
			other(p)
		case !isOther && !isSetting:
			d.unknownKey(p.key, others)
		case twice:
			d.problemAt(p.key, fmt.Sprintf("the key %s is already given on line %d", name, line), "keep one of them")
			d.wrong[k.name] = true
		default:
			d.setting(k, p)
		}
	}
}

// isNull reports whether a node is missing or null.
func isNull(n *yaml.Node) bool { return n.Kind == 0 || n.ShortTag() == "!!null" }

// setting reads the value of a setting.
func (d document) setting(k Key, p pair) {
	if isNull(p.value) {
		return
	}
	read := d.single
	switch k.name {
	case "HEADERS":
		read = d.headers
	case labelsName:
		read = d.labels
	}
	text, ok := read(p)
	if !ok {
		d.wrong[k.name] = true
		return
	}
	if k.Type == "file" && text != "" && !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(d.path), text)
	}
	d.says[k.name] = value{text: text, place: d.place(p.key) + ": " + k.fileKey()}
}

// single returns a single value as a text.
func (d document) single(p pair) (text string, ok bool) {
	n, ok := d.shaped(p, yaml.ScalarNode)
	return strings.TrimSpace(n.Value), ok
}

// headers returns a mapping of headers as lines of NAME=value.
func (d document) headers(p pair) (lines string, ok bool) {
	pairs, ok := d.pairs(p)
	found := Headers{}
	for _, header := range pairs {
		name := header.key.Value
		text, single := d.single(header)
		wrong := found.add(name, text)
		if wrong != "" {
			d.problemAt(header.key, wrong, "want each header once, as name: value")
		}
		ok = ok && single && wrong == ""
		lines += name + "=" + text + "\n"
	}
	return lines, ok
}

// labels returns a mapping of labels as lines of NAME=value.
func (d document) labels(p pair) (lines string, ok bool) {
	pairs, ok := d.pairs(p)
	found := Labels{}
	for _, label := range pairs {
		name := label.key.Value
		text, single := d.single(label)
		err := found.add(name, text)
		wrong, isWrong := errors.AsType[usage.Problem](err)
		if isWrong {
			d.problemAt(label.key, wrong.Text, wrong.Hint)
		}
		ok = ok && single && !isWrong
		lines += name + "=" + text + "\n"
	}
	return lines, ok
}

// intervalHint is the hint for users who look for a time between probes.
const intervalHint = "set the rate instead: qps 0.1 is a probe every 10 s"

var keyStart = regexp.MustCompile(`^[a-zA-Z0-9_-]{0,40}`)

// unknownKey reports a key that does not exist here, and where it belongs. It quotes only what may be a key, because
// the rest may be a secret.
func (d document) unknownKey(key *yaml.Node, others map[string]func(pair)) {
	name := key.Value
	word := keyStart.FindString(name)
	if word != name {
		word += "…"
	}
	var words []string
	for other := range others {
		words = append(words, other)
	}
	for _, k := range d.keys {
		words = append(words, k.fileKey())
	}
	text, hint := "unknown key "+quote(word)+usage.Suggestion(name, words), ""
	ofProber, isProber := d.settings.prober.find(strings.ToUpper(name))
	_, isTarget := d.settings.own.find(strings.ToUpper(name))
	newName, isRenamed := renamed[strings.ToUpper(name)]
	switch {
	case isRenamed:
		text = "key " + quote(name) + " was renamed"
		hint = "write " + strings.ToLower(newName)
	case name == "interval":
		hint = intervalHint
	case name == "<<":
		text, hint = "YAML merge keys are not supported", "write shared settings at the top of the file"
	case name == vantageKey:
		hint = "move it to the top of the file"
	case isProber:
		hint = "set " + ofProber.Variable
	case isTarget:
		hint = "move it into an entry of targets"
	}
	d.problemAt(key, text, hint)
}
