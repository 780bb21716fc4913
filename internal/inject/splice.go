package inject

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// errShared is why a pod cannot be changed alone.
var errShared = errors.New("the pod is written with an anchor or a merge key, and what stands elsewhere too would change with it")

// add puts the sidecar into p: in the place of the one that is there, or as the
// last of the init containers. It does the same to the tree that p is of, as what
// shall come out. A sidecar that is as it should be is left as it is written.
func (s *sheet) add(p pod, read podSpec, car sidecar, tree *yaml.Node) error {
	if shared(p.trail, tree) {
		return errShared
	}
	node, err := car.node()
	if err != nil {
		return err
	}
	at, ok := keyOf(p.spec, "initContainers")
	if !ok && len(read.InitContainers) > 0 {
		return errShared // a list of its own would take the place of the merged one
	}
	if !ok {
		return s.addList(p, car, node)
	}
	list := p.spec.Content[at+1]
	switch {
	case list.Kind == yaml.AliasNode || shared([]*yaml.Node{list}, tree):
		return errShared
	case len(list.Content) == 0:
		return s.fillList(p, at, car, node)
	case list.Kind != yaml.SequenceNode:
		return errors.New("its initContainers are no list")
	}
	for i, item := range list.Content {
		if text(item, "name") == sidecarName {
			if item.Kind == yaml.AliasNode || shared([]*yaml.Node{item}, tree) {
				return errShared
			}
			list.Content[i] = node
			if same(item, car) {
				list.Content[i] = item
				return nil
			}
			return s.replaceItem(list, item, car)
		}
	}
	last := list.Content[len(list.Content)-1]
	list.Content = append(list.Content, node)
	return s.appendItem(list, last, car)
}

// shared reports whether one of some nodes stands elsewhere in tree, too.
func shared(nodes []*yaml.Node, tree *yaml.Node) bool {
	for _, n := range nodes {
		if n.Kind == yaml.AliasNode || n.Anchor != "" && isAliased(n, tree) {
			return true
		}
	}
	return false
}

// isAliased reports whether an alias below tree stands for n.
func isAliased(n, tree *yaml.Node) bool {
	if tree.Kind == yaml.AliasNode && tree.Alias == n {
		return true
	}
	return slices.ContainsFunc(tree.Content, func(below *yaml.Node) bool { return isAliased(n, below) })
}

// same reports whether an item says what the sidecar says, however it is written.
func same(item *yaml.Node, car sidecar) bool {
	var is, want any
	return item.Decode(&is) == nil && yaml.Unmarshal([]byte(car.block("")), &want) == nil && reflect.DeepEqual([]any{is}, want)
}

// addList writes initContainers before the containers of p, and before the
// comment that stands above these.
func (s *sheet) addList(p pod, car sidecar, node *yaml.Node) error {
	at, ok := keyOf(p.spec, "containers")
	if !ok {
		return errShared
	}
	key, list := p.spec.Content[at], p.spec.Content[at+1]
	p.spec.Content = slices.Insert(p.spec.Content, at, scalar("initContainers"), sequence(node))
	offset := s.offset(key)
	indent, alone := s.indent(offset)
	if p.spec.Style&yaml.FlowStyle != 0 {
		text := `"initContainers": ` + object([]sidecar{car}, indent, s.unit(list, indent, alone)) + ","
		if alone {
			text += "\n" + indent
		} else {
			text += " "
		}
		s.insert(offset, s.broken(text))
		return nil
	}
	if !alone {
		return errors.New("its containers do not begin on a line of their own")
	}
	line := key.Line
	for line > 1 && s.isCommentAt(line-1, indent) {
		line--
	}
	s.insert(s.starts[line-1], s.broken(indent+"initContainers:\n"+car.block(s.dash(list, indent))))
	return nil
}

// nothing is a list that is written as empty, and a comment behind it.
var nothing = regexp.MustCompile(`^(["']?initContainers["']?[ \t]*:)[ \t]*(?:\[[ \t]*\]|~|null)?[ \t]*(#[^\r\n]*)?$`)

// fillList writes the sidecar into initContainers that are there, and empty.
func (s *sheet) fillList(p pod, at int, car sidecar, node *yaml.Node) error {
	key, list := p.spec.Content[at], p.spec.Content[at+1]
	p.spec.Content[at+1] = sequence(node)
	if p.spec.Style&yaml.FlowStyle != 0 {
		if list.Kind != yaml.SequenceNode {
			return errors.New("its initContainers are null")
		}
		s.insert(s.offset(list)+1, object(car, "", ""))
		return nil
	}
	offset := s.offset(key)
	indent, alone := s.indent(offset)
	end := offset + len(strings.TrimRight(string(s.text[offset:s.lineEnd(key.Line)]), "\r\n"))
	found := nothing.FindSubmatch(s.text[offset:end])
	if !alone || found == nil {
		return errors.New("its initContainers are empty in an unusual way")
	}
	text := string(found[1])
	if len(found[2]) > 0 {
		text += " " + string(found[2])
	}
	text += "\n" + strings.TrimSuffix(car.block(indent), "\n")
	s.edits = append(s.edits, edit{start: offset, end: end, text: s.broken(text)})
	return nil
}

// appendItem writes the sidecar behind the last item of a list.
func (s *sheet) appendItem(list, last *yaml.Node, car sidecar) error {
	if list.Style&yaml.FlowStyle != 0 {
		offset := s.offset(last)
		end, err := s.closed(offset)
		if err != nil {
			return err
		}
		if indent, alone := s.indent(offset); alone {
			s.insert(end, s.broken(","+"\n"+indent+object(car, indent, s.unit(last, indent, alone))))
		} else {
			s.insert(end, ", "+object(car, "", ""))
		}
		return nil
	}
	indent, _, err := s.item(last)
	if err != nil {
		return err
	}
	end := s.itemEnd(last.Line, indent)
	text := s.broken(car.block(indent))
	if end == len(s.text) && s.text[end-1] != '\n' {
		text = s.newline() + strings.TrimRight(text, "\r\n")
	}
	s.insert(end, text)
	return nil
}

// replaceItem writes the sidecar in the place of an item of a list.
func (s *sheet) replaceItem(list, item *yaml.Node, car sidecar) error {
	offset := s.offset(item)
	if list.Style&yaml.FlowStyle != 0 {
		end, err := s.closed(offset)
		if err != nil {
			return err
		}
		indent, alone := s.indent(offset)
		s.edits = append(s.edits, edit{start: offset, end: end, text: s.broken(object(car, indent, s.unit(item, indent, alone)))})
		return nil
	}
	indent, start, err := s.item(item)
	if err != nil {
		return err
	}
	end := s.itemEnd(item.Line, indent)
	text := s.broken(car.block(indent))
	if s.text[end-1] != '\n' {
		text = strings.TrimRight(text, "\r\n")
	}
	s.edits = append(s.edits, edit{start: start, end: end, text: text})
	return nil
}

// keyOf is which part of a mapping is a key.
func keyOf(mapping *yaml.Node, key string) (i int, ok bool) {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i, true
		}
	}
	return 0, false
}

func scalar(v string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v} }

func sequence(n *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{n}}
}

// verify reports whether a text says what a tree says, and nothing else.
func verify(text []byte, want *yaml.Node) error {
	var is yaml.Node
	if err := yaml.Unmarshal(legible(text), &is); err != nil {
		return err
	}
	if !equal(&is, want) {
		return errors.New("something else would change")
	}
	return nil
}

// equal reports whether two trees say the same, however they are written.
func equal(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, equal)
}
