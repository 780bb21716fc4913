package inject

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A sheet is the text of a document and what is to be changed in it.
type sheet struct {
	text   []byte
	starts []int // of its lines
	edits  []edit
}

// An edit replaces text[start:end].
type edit struct {
	start, end int
	text       string
}

// edited is the text with all edits, which do not overlap.
func (s *sheet) edited() []byte {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range s.edits {
		out = append(append(out, s.text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, s.text[at:]...)
}

// insert puts text at an offset.
func (s *sheet) insert(at int, text string) {
	s.edits = append(s.edits, edit{start: at, end: at, text: text})
}

// offset is where a node begins. YAML counts columns in characters.
func (s *sheet) offset(n *yaml.Node) int {
	at := s.starts[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(s.text[at:])
		at += size
	}
	return at
}

// lineEnd is where the line after the n-th one begins.
func (s *sheet) lineEnd(n int) int {
	if n < len(s.starts) {
		return s.starts[n]
	}
	return len(s.text)
}

// indent is what stands before an offset in its line, if that is space alone.
func (s *sheet) indent(offset int) (indent string, alone bool) {
	i, found := slices.BinarySearch(s.starts, offset)
	if !found {
		i--
	}
	before := string(s.text[s.starts[i]:offset])
	if strings.Trim(before, " \t") != "" {
		return "", false
	}
	return before, true
}

// isCommentAt reports whether the n-th line is a comment behind just that indent:
// a line of a text that looks like one is deeper.
func (s *sheet) isCommentAt(n int, indent string) bool {
	return strings.HasPrefix(string(s.text[s.starts[n-1]:s.lineEnd(n)]), indent+"#")
}

// dash is what stands before the dashes of a list, or what would if it is not
// written with them.
func (s *sheet) dash(list *yaml.Node, indent string) string {
	if list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 {
		return indent
	}
	if dash, alone := s.indent(s.offset(list)); alone {
		return dash
	}
	return indent
}

// item is what stands before the dash of an item, and where its line begins.
func (s *sheet) item(item *yaml.Node) (indent string, start int, err error) {
	start = s.starts[item.Line-1]
	before := string(s.text[start:s.offset(item)])
	indent = before[:len(before)-len(strings.TrimLeft(before, " "))]
	if rest := strings.TrimLeft(before, " "); strings.TrimRight(rest, " ") != "-" {
		return "", 0, errors.New("one of its initContainers does not begin behind its dash")
	}
	return indent, start, nil
}

// itemEnd is where an item ends that begins in a line, behind a dash that is
// indented so far. Space and comments before what follows are not its own, what
// closes a bracket is, wherever it stands.
func (s *sheet) itemEnd(line int, indent string) int {
	end := s.lineEnd(line)
	for n := line + 1; n <= len(s.starts) && s.starts[n-1] < len(s.text); n++ {
		body := strings.TrimRight(string(s.text[s.starts[n-1]:s.lineEnd(n)]), " \t\r\n")
		deep := len(body) - len(strings.TrimLeft(body, " "))
		switch {
		case body == "":
		case deep > len(indent) || strings.IndexByte("]},", body[deep]) >= 0:
			end = s.lineEnd(n)
		case body[deep] != '#':
			return end
		}
	}
	return end
}

// closed is where the flow mapping or sequence ends that begins at an offset.
func (s *sheet) closed(offset int) (int, error) {
	depth, quote := 0, byte(0)
	for i := offset; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, errors.New("the end of one of its initContainers was not found")
}

// unit is how much deeper the parts of a node are indented than what holds them,
// or empty if they stand on one line with it.
func (s *sheet) unit(n *yaml.Node, indent string, alone bool) string {
	if !alone || len(n.Content) == 0 {
		return ""
	}
	deeper, own := s.indent(s.offset(n.Content[0]))
	if !own || len(deeper) <= len(indent) {
		return ""
	}
	return deeper[len(indent):]
}

// newline is how lines of the document end.
func (s *sheet) newline() string {
	if i := slices.Index(s.text, '\n'); i > 0 && s.text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// broken is text with the line ends of the document.
func (s *sheet) broken(text string) string {
	return strings.ReplaceAll(text, "\n", s.newline())
}
