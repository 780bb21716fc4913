package sim

import "strings"

// expand fills a template: $name is replaced by what fill says of it, which is not looked at again. A name is of letters
// only; $$ is a dollar.
func expand(template string, fill func(name string) string) string {
	at := strings.IndexByte(template, '$')
	if at < 0 {
		return template
	}
	out := make([]byte, 0, 2*len(template))
	for ; at >= 0; at = strings.IndexByte(template, '$') {
		out = append(out, template[:at]...)
		template = template[at+1:]
		if strings.HasPrefix(template, "$") {
			out, template = append(out, '$'), template[1:]
			continue
		}
		name := template[:nameLength(template)]
		out = append(out, fill(name)...)
		template = template[len(name):]
	}
	return string(append(out, template...))
}

// nameLength is the length of the name that a text begins with.
func nameLength(text string) int {
	for i := range len(text) {
		if c := text[i] | 0x20; c < 'a' || c > 'z' {
			return i
		}
	}
	return len(text)
}
