package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

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

// maxTargetsFile bounds the size of the targets file, in bytes: some 10,000 targets. Parsed, it takes many times as
// much memory.
const maxTargetsFile = 2 << 20

// readTargetsFile reads the targets file, if there is one, into two entries: what it says for all targets, with its
// lists and all its problems, and what it says about the prober itself.
func (l *loader) readTargetsFile() (shared, prober *entry) {
	shared = newEntry(l.schema.shared, variableAt(prefix)) // a problem with what nobody wrote names its variable
	prober = newEntry(l.schema.prober, variableAt(prefix))
	path := l.prober.values[l.prober.key(&l.config.TargetsFile).name].text
	if path == "" || !printable(path) { // which parsing reports
		return shared, prober
	}
	data, err := l.options.ReadFile(path)
	switch {
	case err != nil:
		l.prober.problem(&l.config.TargetsFile, err.Error(), fileHint(err))
	case len(data) > maxTargetsFile:
		l.prober.problem(&l.config.TargetsFile, "has more than 2 MiB", "want a targets file")
	default:
		r := fileReader{path: path, schema: l.schema, entry: shared, prober: prober}
		root := r.parse(data)
		r.read(pair{root, root})
	}
	return shared, prober
}

// A fileReader reads one mapping of the targets file into an entry: the whole file, a target or an objective. It takes
// values as texts, which are parsed like the texts of variables. A YAML decoder would stop at the first mistake, quote
// secrets in errors, and give on, none and 10s other meanings.
type fileReader struct {
	path   string
	schema schema
	entry  *entry // takes what the mapping says, and all problems
	prober *entry // takes what the top of the file says about the prober; nil in the lists
}

// parse returns the root of the only YAML document in data; an empty node if data is not YAML.
func (r fileReader) parse(data []byte) *yaml.Node {
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&root)
	if err == nil {
		err = decoder.Decode(&second)
		if err == nil {
			r.problemAt(&second, "a second document begins", "want one document")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		line, text := syntaxError(err, data)
		hint := ""
		for mistake, advice := range syntaxHints {
			if strings.HasPrefix(text, mistake) {
				hint = advice
			}
		}
		r.problemAt(&yaml.Node{Line: line}, "not YAML: "+text, hint)
	}
	if root.Kind == yaml.DocumentNode {
		return root.Content[0]
	}
	return &yaml.Node{}
}

// syntaxHints are what to do about errors of the YAML parser, by the beginning of their texts.
var syntaxHints = map[string]string{
	"block sequence entries are not allowed": "check the indentation of this line and the one before",
	"could not find expected ':'":            "want key: value",
	"did not find expected ','":              "want a comma, or the end of the list or mapping",
	"did not find expected '-' indicator":    "check the indentation and the quotes of this line and the one before",
	"did not find expected key":              "check the indentation and the quotes of this line and the one before",
	"found a tab character":                  "indent with spaces",
	"found character that cannot start any":  "indent with spaces, and put texts that begin with @, % or ` into quotes",
	"found unexpected end of stream":         "close the quote",
	"mapping values are not allowed":         "check the indentation, and put a text that has a colon into quotes",
	"unknown anchor":                         "put a text that begins with * into quotes",
}

// syntaxError returns the line and the text of an error of the YAML parser. The text quotes only single characters:
// what looks like an anchor may be somebody's key.
func syntaxError(err error, data []byte) (line int, text string) {
	failure, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return 1, "the parser failed"
	}
	line = failure.Mark.Line
	text = failure.Message
	context := failure.ContextMark.Line
	lastLine := 1 + bytes.Count(bytes.TrimRight(data, " \t\r\n"), []byte("\n"))
	switch {
	case failure.Stage == yaml.ComposerStage:
		before, _, _ := strings.Cut(text, "'")
		text = strings.TrimSpace(before)
	case failure.Mark.Line == 0: // bytes that are no text: the parser has counted no lines yet
		line = 1 + bytes.Count(data[:min(failure.Mark.Index, len(data))], []byte("\n"))
	case text == "found unexpected end of stream", text == "could not find expected ':'":
		line = context // where it begins; the parser gives up at the next line, or at the end of the file
	case strings.Contains(failure.ContextMsg, "flow") && context != line:
		text += fmt.Sprintf(" of what begins on line %d", context)
	}
	return min(line, lastLine), text
}

func (r fileReader) place(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.path, n.Line) }

func (r fileReader) problemAt(n *yaml.Node, text, hint string) {
	r.entry.problems.Add(r.place(n), text, hint)
}

// A pair is a key of a mapping and its value. Problems with the value are reported on the line of the key.
type pair struct{ key, value *yaml.Node }

// nodeOf returns the value of p, with aliases followed, which must be of a kind: a single value, a list or a mapping.
// For null it returns an empty node. It reports a value of another kind, and ok is false.
func (r fileReader) nodeOf(p pair, kind yaml.Kind) (n *yaml.Node, ok bool) {
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
	r.problemAt(p.key, "is "+shapes[n.Kind], "want "+shapes[kind])
	return &yaml.Node{}, false
}

// pairs returns the pairs of a mapping in their order. It reports keys that are not single values.
func (r fileReader) pairs(p pair) (all []pair, ok bool) {
	n, ok := r.nodeOf(p, yaml.MappingNode)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		_, isScalar := r.nodeOf(pair{key, key}, yaml.ScalarNode)
		if isScalar {
			all = append(all, pair{key, value})
		}
	}
	return all, ok
}

// entries returns the entries of a list, with the lists in them.
func (r fileReader) entries(list *section, p pair) (entries []*entry) {
	n, _ := r.nodeOf(p, yaml.SequenceNode)
	for _, node := range n.Content {
		at := r.place(node)
		next := newEntry(list, func(k Key) place { return place{at: at, key: k.fileKey()} })
		next.title = at
		next.nameHint = "give it a name of its own (name: …)"
		inner := fileReader{path: r.path, schema: r.schema, entry: next}
		inner.read(pair{node, node})
		entries = append(entries, next)
	}
	return entries
}

// read reads a mapping: its settings, and the lists that can stand in it.
func (r fileReader) read(mapping pair) {
	lines := map[string]int{} // of the keys so far
	pairs, ok := r.pairs(mapping)
	if !ok {
		for _, k := range r.entry.section.keys {
			r.entry.wrong[k.name] = true // so that nothing is reported as missing as well
		}
	}
	for _, p := range pairs {
		key := p.key.Value
		line, twice := lines[key]
		lines[key] = p.key.Line
		list := r.findList(key)
		owner, k := r.findSetting(key)
		switch {
		case owner == nil && list == nil:
			r.reportUnknownKey(p.key)
		case twice:
			r.problemAt(p.key, fmt.Sprintf("the key %s is already given on line %d", key, line), "keep one of them")
			if owner != nil {
				owner.wrong[k.name] = true
			}
		case list != nil:
			r.entry.entries[list] = r.entries(list, p)
		default:
			r.readSetting(owner, k, p)
		}
	}
}

// findList returns the list that a key names; nil if it names none.
func (r fileReader) findList(key string) *section {
	for _, list := range r.entry.section.lists {
		if key == list.fileKey() {
			return list
		}
	}
	return nil
}

// findSetting returns the setting that a key names, and the entry that it belongs to; nil if it names none.
func (r fileReader) findSetting(key string) (owner *entry, k Key) {
	for _, k := range r.entry.section.keys {
		if key == k.fileKey() {
			return r.entry, k
		}
	}
	if r.prober == nil {
		return nil, Key{}
	}
	for _, k := range r.prober.section.keys {
		if key == k.fileKey() && k.has("file") {
			return r.prober, k
		}
	}
	return nil, Key{}
}

// isNull reports whether a node is missing or null.
func isNull(n *yaml.Node) bool { return n.Kind == 0 || n.ShortTag() == "!!null" }

// readSetting reads the value of a setting of owner.
func (r fileReader) readSetting(owner *entry, k Key, p pair) {
	if isNull(p.value) {
		return
	}
	var text string
	var ok bool
	switch {
	case k.kind.newMapping != nil:
		text, ok = r.mapping(k.kind, p)
	case k.kind.isJSON:
		text, ok = r.json(p)
	case k.kind.isList && p.value.Kind == yaml.SequenceNode:
		text, ok = r.list(p)
	default:
		text, ok = r.scalar(p)
	}
	if !ok {
		owner.wrong[k.name] = true
		return
	}
	if k.Type == "file" && text != "" && !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(r.path), text)
	}
	owner.values[k.name] = value{text: text, place: place{at: r.place(p.key), key: k.fileKey()}}
}

// scalar returns a single value as a text.
func (r fileReader) scalar(p pair) (text string, ok bool) {
	n, ok := r.nodeOf(p, yaml.ScalarNode)
	return strings.TrimSpace(n.Value), ok
}

// list returns the single values of a list as a text with commas between them.
func (r fileReader) list(p pair) (text string, ok bool) {
	var texts []string
	ok = true
	for _, node := range p.value.Content {
		item, isScalar := r.scalar(pair{p.key, node})
		ok = ok && isScalar
		texts = append(texts, item)
	}
	if len(texts) == 0 {
		r.problemAt(p.key, "is an empty list", "want at least one value, or leave the key out")
		return "", false
	}
	return strings.Join(texts, ","), ok
}

// mapping returns the pairs of headers or labels as lines of NAME=value. It reports each pair that is wrong.
func (r fileReader) mapping(of kind, p pair) (lines string, ok bool) {
	all, ok := r.pairs(p)
	found := of.newMapping()
	for _, p := range all {
		name := p.key.Value
		text, isScalar := r.scalar(p)
		err := found.add(name, text)
		wrong, isWrong := errors.AsType[usage.Problem](err)
		if isWrong {
			r.problemAt(p.key, wrong.Text, cmp.Or(wrong.Hint, of.wantInFile))
		}
		if !isScalar || isWrong {
			ok = false
		}
		lines += name + "=" + text + "\n"
	}
	return lines, ok
}

// json returns a mapping of anything as JSON. It reports what JSON cannot say.
func (r fileReader) json(p pair) (text string, ok bool) {
	_, ok = r.nodeOf(p, yaml.MappingNode)
	if !ok {
		return "", false
	}
	budget := maxBody
	value, ok := r.jsonValue(p, &budget)
	if budget < 0 {
		r.problemAt(p.key, "is too large", wantSmallBody)
		return "", false
	}
	if !ok {
		return "", false
	}
	data, _ := json.Marshal(value) // of what JSON has
	return string(data), true
}

// jsonValue returns a value as encoding/json has it. It stops when the budget of bytes is below 0: an alias may stand
// for much, many times.
func (r fileReader) jsonValue(p pair, budget *int) (value any, ok bool) {
	n := p.value
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	*budget -= len(n.Value) + 1
	if *budget < 0 {
		return nil, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		return r.jsonObject(pair{p.key, n}, budget)
	case yaml.SequenceNode:
		list := []any{}
		ok = true
		for _, element := range n.Content {
			value, isRight := r.jsonValue(pair{element, element}, budget)
			list = append(list, value)
			ok = ok && isRight
		}
		return list, ok
	}
	switch n.ShortTag() {
	case "!!null":
		return nil, true
	case "!!bool", "!!int", "!!float":
		err := n.Decode(&value)
		if err == nil {
			_, err = json.Marshal(value)
		}
		if err != nil { // .inf or .nan
			r.problemAt(p.key, "has a number that JSON does not have", "put it into quotes if it is a text")
		}
		return value, err == nil
	}
	isQuoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if !isQuoted && oldSwitch.MatchString(n.Value) {
		r.problemAt(p.key, "has "+quote(n.Value)+" without quotes, which YAML takes for a text",
			"write true or false, or put it into quotes if it is a text")
		return nil, false
	}
	return n.Value, true
}

// oldSwitch matches the words that are true and false in YAML 1.1 only: https://yaml.org/type/bool.html. A chat
// template takes the text off for true.
var oldSwitch = regexp.MustCompile(`(?i)^(on|off|yes|no)$`)

// jsonObject returns a mapping as encoding/json has it.
func (r fileReader) jsonObject(p pair, budget *int) (object map[string]any, ok bool) {
	object = map[string]any{}
	pairs, ok := r.pairs(p)
	for _, p := range pairs {
		key := p.key.Value
		*budget -= len(key)
		_, twice := object[key]
		switch {
		case key == "<<":
			r.problemAt(p.key, "YAML merge keys are not supported", "write the fields out")
			ok = false
		case twice:
			r.problemAt(p.key, "the key "+quote(keyStart.FindString(key))+" is given twice", "keep one of them")
			ok = false
		}
		value, isRight := r.jsonValue(p, budget)
		object[key] = value
		ok = ok && isRight
	}
	return object, ok
}

// intervalHint is the hint for users who look for a time between probes.
const intervalHint = "set the rate instead: qps 0.1 is a probe every 10 s"

// refreshHint is the hint for users who write what Prometheus calls it.
const refreshHint = "it is called refresh here"

var keyStart = regexp.MustCompile(`^[a-zA-Z0-9_-]{0,40}`)

// reportUnknownKey reports a key that does not exist here, and where it belongs. It quotes only what may be a key,
// because the rest may be a secret.
func (r fileReader) reportUnknownKey(key *yaml.Node) {
	name := key.Value
	word := keyStart.FindString(name)
	if word != name {
		word += "…"
	}
	var words []string
	for _, k := range r.entry.section.keys {
		words = append(words, k.fileKey())
	}
	for _, list := range r.entry.section.lists {
		words = append(words, list.fileKey())
	}
	for _, k := range r.schema.prober.keys {
		if r.prober != nil && k.has("file") {
			words = append(words, k.fileKey())
		}
	}
	text := "unknown key " + quote(word) + usage.Suggestion(name, words)
	hint := ""
	ofProber, isOfProber := r.schema.prober.find(strings.ToUpper(name))
	ofTarget, isOfTarget := r.schema.target.find(strings.ToUpper(name))
	switch {
	case name == "interval":
		hint = intervalHint
	case name == "refresh_interval" && r.entry.section == r.schema.source:
		hint = refreshHint
	case name == "<<":
		text, hint = "YAML merge keys are not supported", "write shared settings at the top of the file"
	case isOfProber && ofProber.has("file"):
		hint = "move it to the top of the file"
	case isOfProber:
		hint = "set " + ofProber.Variable
	case isOfTarget && !ofTarget.Shared:
		hint = "move it into an entry of targets"
	}
	r.problemAt(key, text, hint)
}
