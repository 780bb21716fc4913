package sim

import (
	"maps"
	"slices"
	"strings"
)

// fields are those of a JSON object, as encoding/json decodes it; nil if it is none.
type fields map[string]any

// at finds a value; dots in its path lead inside. It is nil if there is none.
func (f fields) at(path string) any {
	outer, inner, nested := strings.Cut(path, ".")
	if !nested {
		return f[outer]
	}
	object, _ := f[outer].(map[string]any)
	return fields(object).at(inner)
}

// number is the first number that is at one of the paths.
func (f fields) number(paths []string) (n int, ok bool) {
	for _, path := range paths {
		if n, ok := f.at(path).(float64); ok {
			return int(n), true
		}
	}
	return 0, false
}

// text is the string at a path; empty if there is none.
func (f fields) text(path string) string {
	s, _ := f.at(path).(string)
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
		return value == !negated
	})
}

// unknown are the fields that are not among the known ones, sorted; one level inside too, where there are known ones.
func (f fields) unknown(known []string) []string {
	names := slices.Collect(maps.Keys(f))
	for key, value := range f {
		object, _ := value.(map[string]any)
		if slices.ContainsFunc(known, func(s string) bool { return strings.HasPrefix(s, key+".") }) {
			for name := range object {
				names = append(names, key+"."+name)
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(known, name) })
}

// texts are those of a string, or of a list of messages, whose contents are strings or lists of parts.
func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case map[string]any: // a message, or a part of one
		return append(texts(v["text"]), texts(v["content"])...)
	case []any:
		for _, inner := range v {
			out = append(out, texts(inner)...)
		}
	}
	return out
}

// tokenIDs are those of a list; ok is false if there are none, or others than numbers.
func tokenIDs(v any) (ids []uint32, ok bool) {
	list, _ := v.([]any)
	for _, one := range list {
		id, ok := one.(float64)
		if !ok {
			return nil, false
		}
		ids = append(ids, uint32(id))
	}
	return ids, len(ids) > 0
}
