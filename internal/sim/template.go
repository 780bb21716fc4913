package sim

import (
	"iter"
	"strings"
)

// expand fills a template: $name is replaced by what hole says of it, which is not looked at again. A name is of letters
// only; $$ is the name "$". It is os.Expand without a shell's variables, at half of its cost.
func expand(template string, hole func(name string) string) string {
	at := strings.IndexByte(template, '$')
	if at < 0 {
		return template
	}
	out := make([]byte, 0, 2*len(template))
	for ; at >= 0; at = strings.IndexByte(template, '$') {
		out = append(out, template[:at]...)
		template = template[at+1:]
		name := template[:nameLength(template)]
		out = append(out, hole(name)...)
		template = template[len(name):]
	}
	return string(append(out, template...))
}

// parts are the texts of a template, each with the name behind it; the last has none.
func parts(template string) iter.Seq2[string, string] {
	return func(yield func(text, name string) bool) {
		for at := strings.IndexByte(template, '$'); at >= 0; at = strings.IndexByte(template, '$') {
			text, rest := template[:at], template[at+1:]
			name := rest[:nameLength(rest)]
			if template = rest[len(name):]; !yield(text, name) {
				return
			}
		}
		yield(template, "")
	}
}

// nameLength is the length of the name that a text begins with.
func nameLength(text string) int {
	if strings.HasPrefix(text, "$") {
		return 1
	}
	for i := range len(text) {
		if c := text[i] | 0x20; c < 'a' || c > 'z' {
			return i
		}
	}
	return len(text)
}

// quoted is a text as JSON has it.
func quoted(text string) string {
	if !isPlain(text) {
		return string(mustJSON(text))
	}
	return `"` + text + `"`
}

// isPlain reports whether a text is the same in JSON.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
