package inject

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A document is one of a stream: documents in a row are the stream again.
type document struct {
	marker []byte // its line of ---; empty for what stands before the first one
	text   []byte
	line   int // of the stream, on which text begins, from 1
}

// marker is a line between documents, which YAML allows in no text. What follows --- on its line, but a comment, is not
// taken.
var marker = regexp.MustCompile(`(?m)^---(?:[ \t]*(?:#.*)?)?\r?$\n?`)

// split cuts a stream into its documents.
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

// reason is an error of the YAML library on one line, with lines of the stream and without values, which may be
// secrets.
func (d document) reason(err error) string {
	text := yamlLine.ReplaceAllStringFunc(yamlValue.ReplaceAllString(err.Error(), " into "), func(s string) string {
		n, _ := strconv.Atoi(s[len("line "):])
		return fmt.Sprint("line ", n+d.line-1)
	})
	return strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " ")
}

// preamble is what may be all of a document that says nothing: directives, comments, empty lines.
var preamble = regexp.MustCompile(`^(?:[%#].*\n?|\s)*$`)

// parse reads the one document of a text; a tree without content says nothing. With the ends of lines of Windows the
// library would lose comments.
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

// encode writes a tree as YAML. Comments stay, empty lines do not. The error says that it would be read as something
// else.
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

// restyle takes a style from all nodes, so that JSON becomes block style, and makes literal texts of folded ones, which
// the encoder folds to something else. Strings stay quoted: "on" without quotes is no string to Kubernetes.
func restyle(n *yaml.Node, without yaml.Style) {
	if n.Style &^= without; n.Style&yaml.FoldedStyle != 0 {
		n.Style = yaml.LiteralStyle
	}
	for _, below := range n.Content {
		restyle(below, without)
	}
}

// same reports whether two nodes say the same, however they are written.
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
	if at(n, way...).Decode(&s) != nil {
		return ""
	}
	return s
}
