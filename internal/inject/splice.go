package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// errShared is why a pod cannot be changed alone.
var errShared = errors.New("its document has aliases or merge keys, and what stands elsewhere too could change with it")

// add puts the sidecar into p: in the place of the one that is there, or as the last of the init containers. A sidecar
// that is as it should be is left as it is written.
func (p pod) add(read podSpec, car sidecar, tree *yaml.Node) (changed bool, err error) {
	if hasAlias(tree) {
		return false, errShared
	}
	var node yaml.Node
	if err := node.Encode(car); err != nil {
		return false, fmt.Errorf("write the sidecar: %w", err)
	}
	list, ok := value(p.spec, "initContainers")
	switch {
	case !ok && len(read.InitContainers) > 0:
		return false, errShared // a list of its own would take the place of the merged one
	case !ok:
		return true, p.addList(&node)
	}
	for i, item := range list.Content {
		if text(item, "name") != sidecarName {
			continue
		}
		node.HeadComment, node.LineComment, node.FootComment = item.HeadComment, item.LineComment, item.FootComment
		list.Content[i] = &node
		return !same(item, &node), nil
	}
	if len(list.Content) == 0 { // [] or null, whose comment has no place behind a list
		node.HeadComment, list.LineComment = list.LineComment, ""
		list.Kind, list.Tag, list.Value, list.Style = yaml.SequenceNode, "", "", 0
	}
	list.Content = append(list.Content, &node)
	return true, nil
}

// addList writes initContainers before the containers of p.
func (p pod) addList(node *yaml.Node) error {
	for at := 0; at < len(p.spec.Content); at += 2 {
		if p.spec.Content[at].Value == "containers" {
			key := &yaml.Node{Kind: yaml.ScalarNode, Value: "initContainers"}
			list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}
			p.spec.Content = slices.Insert(p.spec.Content, at, key, list)
			return nil
		}
	}
	return errShared
}

// hasAlias reports whether an alias stands below n.
func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// same reports whether two nodes say the same, however they are written.
func same(a, b *yaml.Node) bool {
	var one, other any
	return a.Decode(&one) == nil && b.Decode(&other) == nil && reflect.DeepEqual(one, other)
}

// parse reads the one document of a text. With the ends of lines of Windows the library would lose comments.
func parse(text []byte) (*yaml.Node, error) {
	var tree, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
	if err := decoder.Decode(&tree); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document: put --- between them")
	}
	return &tree, nil
}

// encode writes a tree as YAML, with the ends of lines of text. Comments stay, empty lines do not. The error says that
// it would be read as something else.
func encode(tree *yaml.Node, text []byte) ([]byte, error) {
	restyle(tree, json.Valid(text))
	out, err := encodeYAML(tree)
	if bytes.Contains(text, []byte("\r\n")) {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
	}
	return out, err
}

func encodeYAML(tree *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if compact(tree) {
		e.CompactSeqIndent()
	}
	if err := e.Encode(tree); err != nil {
		return nil, err
	}
	is, err := parse(out.Bytes())
	if err != nil {
		return nil, err
	}
	if !equal(is, tree) {
		return nil, errors.New("something else would change")
	}
	return out.Bytes(), nil
}

// restyle makes literal texts of folded ones, which the encoder folds to something else, and block style of JSON's, whose
// strings stay quoted: "on" without quotes is no string to Kubernetes.
func restyle(n *yaml.Node, isJSON bool) {
	switch {
	case isJSON:
		n.Style &^= yaml.FlowStyle
	case n.Style&yaml.FoldedStyle != 0:
		n.Style = yaml.LiteralStyle
	}
	for _, below := range n.Content {
		restyle(below, isJSON)
	}
}

// compact reports whether no list below a node is indented more than its key.
func compact(n *yaml.Node) bool {
	for i, below := range n.Content {
		flow := below.Style&yaml.FlowStyle != 0 || len(below.Content) == 0
		if !flow && n.Kind == yaml.MappingNode && below.Kind == yaml.SequenceNode && i%2 == 1 && below.Column > n.Content[i-1].Column || !compact(below) {
			return false
		}
	}
	return true
}

// equal reports whether two trees say the same, however they are written.
func equal(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, equal)
}
