package inject

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/usage"
)

// A document is one of a stream: documents in a row are the stream again.
type document struct {
	marker []byte // its line of ---; empty for what stands before the first one
	text   []byte
	line   int // of the stream, on which text begins, from 1
}

// marker is a line between documents, which YAML allows in no text.
var marker = regexp.MustCompile(`(?m)^---(?:[ \t]*(?:#.*)?)?\r?$\n?`)

func split(in []byte) (docs []document) {
	begin, line := []int{0, 0}, 1
	for _, end := range append(marker.FindAllIndex(in, -1), []int{len(in), len(in)}) {
		d := document{marker: in[begin[0]:begin[1]], text: in[begin[1]:end[0]]}
		d.line = line + bytes.Count(d.marker, []byte("\n"))
		docs, begin, line = append(docs, d), end, d.line+bytes.Count(d.text, []byte("\n"))
	}
	return docs
}

// yamlLine is a line that an error of the YAML library speaks of, yamlValue the value that it quotes, or its beginning.
var (
	yamlLine  = regexp.MustCompile(`line (\d+)`)
	yamlValue = regexp.MustCompile("(?s) `.*?` into ")
)

// reason is an error of the YAML library on one line, with lines of the stream and without values, which may be secrets.
func (d document) reason(err error) string {
	text := yamlLine.ReplaceAllStringFunc(yamlValue.ReplaceAllString(err.Error(), " into "), func(s string) string {
		n, _ := strconv.Atoi(s[len("line "):])
		return fmt.Sprint("line ", n+d.line-1)
	})
	return strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " ")
}

// preamble is what may be all of a document that says nothing: directives, comments, empty lines.
var preamble = regexp.MustCompile(`^(?:[%#].*\n?|\s)*$`)

// parse reads the one document of a text; a tree without content says nothing. With CRLF the library would lose comments.
func parse(text []byte) (*yaml.Node, error) {
	var tree, second yaml.Node
	if preamble.Match(text) {
		return &tree, nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document: put --- between them")
	}
	return &tree, nil
}

// encode writes a tree as YAML. Comments stay, empty lines do not. The error says that it would be read as something else.
func encode(tree *yaml.Node) ([]byte, error) {
	restyle(tree, tree.Content[0].Style&yaml.FlowStyle)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(tree); err != nil {
		return nil, err
	}
	if is, err := parse(out.Bytes()); err != nil || !same(is, tree) {
		return nil, errors.New("something else would change")
	}
	return out.Bytes(), nil
}

// restyle takes a style from all nodes, and makes literal texts of folded ones, which the encoder would change.
func restyle(n *yaml.Node, without yaml.Style) {
	if n.Style &^= without; n.Style&yaml.FoldedStyle != 0 {
		n.Style = yaml.LiteralStyle
	}
	for _, below := range n.Content {
		restyle(below, without)
	}
}

func same(a, b *yaml.Node) bool {
	var one, other any
	return a.Decode(&one) == nil && b.Decode(&other) == nil && reflect.DeepEqual(one, other)
}

// shared reports whether what is written below a node stands, or could stand, in more than one place.
func shared(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.ShortTag() == "!!merge" || slices.ContainsFunc(n.Content, shared)
}

// at is what is at the end of a way of keys through mappings, which may be aliases; an empty node if that is not there.
func at(n *yaml.Node, way ...string) *yaml.Node {
	if len(way) == 0 {
		return n
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == way[0] {
			return at(n.Content[i+1], way[1:]...)
		}
	}
	return &yaml.Node{}
}

// text is the scalar at the end of a way of keys, or empty.
func text(n *yaml.Node, way ...string) (s string) {
	_ = at(n, way...).Decode(&s) // nothing else can be decoded
	return s
}

// leaders is the way to the pods of a LeaderWorkerSet that serve, if it has such.
const leaders = "spec leaderWorkerTemplate leaderTemplate"

// kinds are the kinds of workloads that hold model servers, with the way to what holds the metadata and the spec of their pods:
// no Jobs, whose pods are there to end, and no Knative Services: Knative refuses an init container with a restartPolicy.
var kinds = map[string]string{
	"Pod":                   "",
	"ReplicationController": "spec template",
	"apps/Deployment":       "spec template",
	"apps/StatefulSet":      "spec template",
	"apps/DaemonSet":        "spec template",
	"apps/ReplicaSet":       "spec template",
	"argoproj.io/Rollout":   "spec template",
	"leaderworkerset.x-k8s.io/LeaderWorkerSet": leaders,
	// Serve's proxy runs on the head: its annotation or its command must say that it is wanted.
	"ray.io/RayCluster":                     "spec headGroupSpec template",
	"ray.io/RayService":                     "spec rayClusterConfig headGroupSpec template",
	"serving.kserve.io/InferenceService":    "", // its predictor is the spec
	"serving.kserve.io/LLMInferenceService": "", // never changed
}

// A pod is one that a workload makes, as it is written.
type pod struct {
	document document   // that it is in
	label    string     // the workload's name, or what its name is generated from; may be empty
	object   *yaml.Node // the workload
	spec     *yaml.Node // a mapping
	about    *yaml.Node // its metadata; may be empty
	group    bool       // several such pods serve together, and the first one answers

	podSpec // what is read of it, with the metadata
	meta    struct{ Labels, Annotations map[string]string }
}

// What is read of a pod: no more than what decides.
type (
	podSpec struct {
		InitContainers []container `yaml:"initContainers"`
		Containers     []container
	}
	container struct {
		Name, Image   string
		Command, Args []string
		Env           []Env
		Ports         []map[string]string
	}
)

func (p pod) name() string { return text(p.object, "kind") + "/" + cmp.Or(p.label, "?") }

func (p pod) problem(text, hint string) error {
	line := p.document.line + p.object.Line - 1
	return usage.Problems{{Place: fmt.Sprintf("line %d: %s", line, p.name()), Text: text, Hint: hint}}
}

func (r *run) pods(object *yaml.Node) (pods []pod) {
	kind, items := text(object, "kind"), at(object, "items")
	if strings.HasSuffix(kind, "List") && !items.IsZero() {
		for i := 0; object.Kind != yaml.AliasNode && i < len(items.Content); i++ { // an alias may hold itself
			pods = append(pods, r.pods(items.Content[i])...)
		}
		return pods
	}
	r.objects++
	way, ok := kinds[path.Join(path.Dir(text(object, "apiVersion")), kind)]
	p := pod{object: object, label: strings.TrimSuffix(text(object, "metadata", "generateName"), "-")}
	p.label = cmp.Or(text(object, "metadata", "name"), p.label)
	template := at(object, strings.Fields(way)...)
	if way == leaders && at(template, "spec").IsZero() {
		template = at(object, "spec", "leaderWorkerTemplate", "workerTemplate")
		p.group = cmp.Or(text(object, "spec", "leaderWorkerTemplate", "size"), "1") != "1"
	}
	p.about, p.spec = at(template, "metadata"), at(template, "spec")
	if kind == "InferenceService" {
		p.spec = at(p.spec, "predictor")
	}
	if !ok || p.spec.Kind != yaml.MappingNode && p.spec.Kind != yaml.AliasNode {
		return nil
	}
	return []pod{p}
}

// add puts the sidecar into p, which is in tree: in the place of the one that is there, or as the last of the init containers.
func (p pod) add(car sidecar, tree *yaml.Node) (changed bool, err error) {
	if shared(tree) {
		return false, p.problem("its document has aliases or merge keys, and what stands elsewhere too could change with it", plainly)
	}
	var node yaml.Node
	if err := node.Encode(car); err != nil {
		return false, err
	}
	list := at(p.spec, "initContainers")
	if list.IsZero() {
		p.spec.Content = slices.Insert(p.spec.Content, 0, &yaml.Node{Kind: yaml.ScalarNode, Value: "initContainers"}, list)
	}
	if len(list.Content) == 0 { // new, [] or null, whose comment has no place behind a list
		node.HeadComment, list.LineComment = list.LineComment, ""
		list.Kind, list.Tag, list.Value, list.Style = yaml.SequenceNode, "", "", 0
	}
	i := slices.IndexFunc(list.Content, func(item *yaml.Node) bool { return text(item, "name") == sidecarName })
	if i < 0 {
		list.Content = append(list.Content, &node)
		return true, nil
	}
	item := list.Content[i]
	node.HeadComment, node.LineComment, node.FootComment = item.HeadComment, item.LineComment, item.FootComment
	list.Content[i] = &node
	return !same(item, &node), nil
}
