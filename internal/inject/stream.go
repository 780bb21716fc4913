package inject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A document is one of a stream, with all that stands between it and the next:
// documents in a row are the stream again.
type document struct {
	text   []byte
	number int // from 1
	line   int // of the stream, on which it begins, from 1
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

// split cuts a stream into its documents: before each line that begins with
// ---, and after each that begins with ..., which YAML allows in no text.
// Directives (%YAML) stay with the document that they are for.
func split(in []byte) []document {
	var docs []document
	start, line, first := 0, 1, 1
	bare, directives := true, false // nothing but comments so far; directives that wait for their ---
	cut := func(end int) {
		if end > start {
			docs = appendValues(docs, in[start:end], first)
		}
		start, first, bare, directives = end, line, true, false
	}
	for at := 0; at < len(in); {
		end := at + lineLength(in[at:])
		switch text := in[at:end]; {
		case isMarker(text, "---"):
			if !directives {
				cut(at)
			}
			bare, directives = false, false
		case isMarker(text, "..."):
			line++
			cut(end)
			line--
		case text[0] == '%' && bare:
			directives = true
		default:
			bare = bare && isComment(text)
		}
		at = end
		line++
	}
	cut(len(in))
	return docs
}

// lineLength is the length of the first line of text with its end.
func lineLength(text []byte) int {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return n + 1
	}
	return len(text)
}

// isMarker reports whether a line is a marker between documents.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// appendValues appends text as one document, or as several if it is JSON
// objects in a row, as kubectl takes them.
func appendValues(docs []document, text []byte, line int) []document {
	for len(text) > 0 {
		n := firstObject(text)
		docs = append(docs, document{text: text[:n], number: len(docs) + 1, line: line})
		line += bytes.Count(text[:n], []byte("\n"))
		text = text[n:]
	}
	return docs
}

// firstObject is the length of the first of several JSON objects, or else of
// all the text.
func firstObject(text []byte) int {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return len(text)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	if decoder.Decode(&value) != nil {
		return len(text)
	}
	n := int(decoder.InputOffset())
	if rest := bytes.TrimSpace(text[n:]); len(rest) == 0 || rest[0] != '{' {
		return len(text)
	}
	return n
}

// escape is what a backslash begins in a string of JSON.
var escape = regexp.MustCompile(`\\(?:u[0-9A-Fa-f]{4}|.)`)

// legible is a document as YAML reads it, each thing in its place: JSON has two
// escapes that YAML has not, halves of characters beyond 16 bits and the slash.
// What they stand for is then read as something else, which is in nothing that
// decides: in no name, no flag, and not in the last part of a path.
func legible(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u`)) && !bytes.Contains(text, []byte(`\/`)) || !json.Valid(text) {
		return text
	}
	return escape.ReplaceAllFunc(text, func(s []byte) []byte {
		switch {
		case s[1] == '/':
			return []byte("//")
		case len(s) == len(`\ud800`) && (s[2] == 'd' || s[2] == 'D') && s[3] >= '8':
			return []byte(`\ufffd`)
		}
		return s
	})
}

// lineStarts is where each line of text begins, as YAML counts lines.
func lineStarts(text []byte) []int {
	starts := []int{len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))}
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		at += n
		switch r {
		case '\r':
			if at < len(text) && text[at] == '\n' {
				at++
			}
			starts = append(starts, at)
		case '\n', '\u0085', '\u2028', '\u2029':
			starts = append(starts, at)
		}
	}
	return starts
}

// isComment reports whether a line holds a comment or nothing.
func isComment(line []byte) bool {
	trimmed := bytes.TrimSpace(line)
	return len(trimmed) == 0 || trimmed[0] == '#'
}
