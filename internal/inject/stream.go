package inject

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A document is one of a stream: documents in a row are the stream again.
type document struct {
	marker []byte // what stands before it, up to its line of ---; empty for a first one without
	text   []byte
	number int // from 1
	line   int // of the stream, on which text begins, from 1
}

// place is a line of d, counted from 1 in it, as a person finds it.
func (d document) place(line int) string {
	return fmt.Sprintf("document %d, line %d", d.number, d.line+line-1)
}

// yamlLine is a line that an error of the YAML library speaks of.
var yamlLine = regexp.MustCompile(`line (\d+)`)

// yamlValue is the value that such an error quotes, or its beginning.
var yamlValue = regexp.MustCompile("(?s) `.*?` into ")

// reason is an error of the YAML library on one line, with lines of the stream
// and without values, which may be secrets.
func (d document) reason(err error) string {
	text := yamlLine.ReplaceAllStringFunc(yamlValue.ReplaceAllString(err.Error(), " into "), func(s string) string {
		n, _ := strconv.Atoi(s[len("line "):])
		return "line " + strconv.Itoa(n+d.line-1)
	})
	return strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " ")
}

// marker is a line between documents, which YAML allows in no text.
var marker = regexp.MustCompile(`(?m)^---(?:[ \t]*(?:#.*)?)?\r?$\n?`)

// preamble is what may stand before the first document: directives, comments, empty lines.
var preamble = regexp.MustCompile(`(?m)^(?:[%#].*|\s*)$\n?`)

// split cuts a stream into its documents. What follows --- on its line, but a comment, is not taken.
func split(in []byte) (docs []document) {
	at, line, before := 0, 1, 0
	cut := func(end int) {
		if d := (document{marker: in[before:at], text: in[at:end], number: len(docs) + 1, line: line}); len(d.marker)+len(d.text) > 0 {
			docs = append(docs, d)
		}
		line += bytes.Count(in[at:end], []byte("\n"))
	}
	for _, found := range marker.FindAllIndex(in, -1) {
		if at > 0 || len(preamble.ReplaceAll(in[:found[0]], nil)) > 0 {
			cut(found[0])
			before = found[0]
		} else {
			line += bytes.Count(in[at:found[0]], []byte("\n"))
		}
		at = found[1]
		line += bytes.Count(in[found[0]:found[1]], []byte("\n"))
	}
	cut(len(in))
	return docs
}
