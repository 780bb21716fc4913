package sim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// fields are those of a JSON object; nil if it is none.
type fields map[string]json.RawMessage

func fieldsOf(body []byte) fields {
	var f fields
	if json.Unmarshal(body, &f) != nil {
		return nil
	}
	return f
}

// at finds a value; dots in its path lead inside. It is nil if there is none.
func (f fields) at(path string) json.RawMessage {
	outer, inner, nested := strings.Cut(path, ".")
	value, ok := f[outer]
	switch {
	case !ok || string(value) == "null":
		return nil
	case nested:
		return fieldsOf(value).at(inner)
	}
	return value
}

// number is the first number that is at one of the paths.
func (f fields) number(paths []string) (n int, ok bool) {
	for _, path := range paths {
		if value := f.at(path); value != nil && json.Unmarshal(value, &n) == nil {
			return n, true
		}
	}
	return 0, false
}

// text is the string at a path; empty if there is none.
func (f fields) text(path string) (s string) {
	_ = json.Unmarshal(f.at(path), &s) // what is no string is none
	return s
}

// flag reports whether any of the conditions holds: "a.b" is true, "!a.b" is false, "a.b?" is true or absent from an a
// that is there; "always".
func (f fields) flag(conditions []string) bool {
	return slices.ContainsFunc(conditions, func(c string) bool {
		if c == "always" {
			return true
		}
		path, optional := strings.CutSuffix(c, "?")
		path, negated := strings.CutPrefix(path, "!")
		value := f.at(path)
		if value == nil {
			dot := strings.LastIndex(path, ".")
			return optional && (dot < 0 || f.at(path[:dot]) != nil)
		}
		var on bool
		return json.Unmarshal(value, &on) == nil && on != negated
	})
}

// unknown are the fields that are not among the known ones, sorted; one level inside too, where there are known ones.
func (f fields) unknown(known []string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(known, key) {
			out = append(out, key)
			continue
		}
		if !slices.ContainsFunc(known, func(s string) bool { return strings.HasPrefix(s, key+".") }) {
			continue
		}
		for _, inner := range slices.Sorted(maps.Keys(fieldsOf(f[key]))) {
			if name := key + "." + inner; !slices.Contains(known, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// message is one message of a chat; its content may be a string or a list of parts.
type message struct {
	Content content `json:"content"`
}

// content is the text of a message.
type content string

// UnmarshalJSON takes a string, null, or a list of parts whose texts are joined.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content(text)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*c += content(p.Text)
	}
	return nil
}

// texts are those of a string, or of a list of messages.
func texts(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []string{text}
	}
	var messages []message
	if json.Unmarshal(raw, &messages) != nil {
		return nil
	}
	var out []string
	for _, m := range messages {
		out = append(out, string(m.Content))
	}
	return out
}
