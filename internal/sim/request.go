package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

type ask struct {
	prompt    digest
	max       int // tokens to generate at most, at least 1
	min       int // tokens before a natural end
	reasoning int // how many of the first tokens are reasoning; may exceed the answer
	endless   bool
	replay    bool // the response cache has the answer: it is due at once and touches no engine
	flags     map[string]bool
}

// read understands a request, or says why it is refused. model is the one that the path names, if it does.
func (g *generation) read(s *Server, body []byte, model string) (ask, *refusal) {
	r, c := &g.Request, s.config
	var f fields
	if json.Unmarshal(body, &f) != nil {
		return ask{}, bad("", "Invalid JSON body.")
	}
	q := ask{flags: map[string]bool{}}
	for name, conditions := range r.Flags {
		q.flags[name] = f.flag(conditions)
	}
	p, refused := r.prompt(f)
	if refused = cmp.Or(r.checkFields(f, c), r.checkModel(f, c, model), refused); refused != nil {
		return q, refused
	}
	var salts []string
	for _, field := range r.Salt {
		salts = append(salts, f.text(field))
	}
	q.prompt = digestOf(p.tokens(), strings.Join(salts, ""))
	q.prompt.code, q.endless = p.codeWords(), q.flags["endless"] || p.asks("do not stop")
	if refused := r.lengths(f, &q, c.Profile.MaxModelLen); refused != nil {
		return q, refused
	}
	if g.Answer.Thought != "" || g.Answer.HidesAll {
		q.reasoning = r.reasoning(f, c.Reasoning)
	}
	if r.Replays && !q.flags["fresh"] {
		sum := fnv.New64a()
		_, _ = sum.Write(body) // never fails
		q.replay = s.replays.visit([]uint64{sum.Sum64()}) > 0
	}
	return q, nil
}

func (r *requestFormat) checkFields(f fields, c Config) *refusal {
	for _, field := range c.RejectFields {
		if f.at(field) != nil {
			return bad(field, "Extra inputs are not permitted: %s", field)
		}
	}
	for _, field := range r.Required {
		if f.at(field) == nil {
			return bad(field, "%s: Field required", field)
		}
	}
	if unknown := f.unknown(r.Known); r.Known != nil && len(unknown) > 0 {
		return bad(unknown[0], "Unrecognized request arguments supplied: %s", strings.Join(unknown, ", "))
	}
	for field, other := range r.Replaced {
		if f.at(field) != nil {
			return bad(field, "Unsupported parameter: '%s' is not supported with this model. Use '%s' instead.", field, other)
		}
	}
	return nil
}

func (r *requestFormat) checkModel(f fields, c Config, inPath string) *refusal {
	name := f.text("model")
	switch {
	case inPath != "":
		name = inPath // where a model may also go by what follows the last slash of its name
		if name == path.Base(c.Model) {
			return nil
		}
	case r.AnyModel || name == "":
		return nil
	}
	if name != c.Model {
		return &refusal{status: http.StatusNotFound, message: fmt.Sprintf("The model `%s` does not exist.", name), param: "model"}
	}
	return nil
}

// lengths finds how long the answer is to be in a context of so many tokens, the prompt among them.
func (r *requestFormat) lengths(f fields, q *ask, context int) *refusal {
	room := context - q.prompt.tokens
	if room < 1 {
		refused := bad("", "This model's maximum context length is %d tokens. However, your request has %d input tokens.",
			context, q.prompt.tokens)
		refused.tokens, refused.length = q.prompt.tokens, context
		return refused
	}
	q.max = room
	if n, ok := f.number(r.Max); ok && n >= 0 {
		q.max = n
	} else if r.MaxDefault > 0 {
		q.max = r.MaxDefault
	}
	q.min, _ = f.number(r.Min)
	least := max(1, r.MaxLeast)
	switch {
	case q.max < least:
		return bad("", "The answer must have at least %d tokens, got %d.", least, q.max)
	case r.NoClamp && q.max > room:
		return bad("", "Input and new tokens must be <= %d. Given: %d input tokens and %d new tokens", context, q.prompt.tokens, q.max)
	}
	q.max = min(q.max, room)
	return nil
}

// reasoning is how many tokens the model thinks: what the configuration says, or none if the request says so.
func (r *requestFormat) reasoning(f fields, configured int) int {
	thinking := f.at(r.Thinking)
	if object, ok := thinking.(map[string]any); thinking == false || ok && object["type"] != "enabled" {
		return 0
	}
	return configured
}

func (p promptFields) prompt(f fields) (prompt, *refusal) {
	for _, field := range p.IDs {
		if ids, ok := tokenIDs(f.at(field)); ok {
			return prompt{ids: ids}, nil
		}
	}
	var messages []string
	for _, field := range p.Messages {
		messages = append(messages, texts(f.at(field))...)
	}
	if len(messages) > 0 {
		return prompt{ // the chat template costs 13 tokens, the beginning of sequence among them
			head:  []uint32{beginID, 128006, 882, 128007, 271, 128020, 128021, 128022},
			texts: messages,
			tail:  []uint32{endID, 128006, 78191, 128007, 271},
		}, nil
	}
	for _, field := range p.Text {
		if ids, ok := tokenIDs(f.at(field)); ok && !p.NoIDs {
			return prompt{ids: ids}, nil
		}
		if list := texts(f.at(field)); strings.Join(list, "") != "" {
			out := prompt{texts: list}
			if len(p.Begin) == 0 || f.flag(p.Begin) {
				out.head = []uint32{beginID}
			}
			return out, nil
		}
	}
	wanted := strings.Join(slices.Concat(p.Messages, p.Text), " or ")
	return prompt{}, bad(wanted, "%s: want a prompt.", wanted)
}

func bad(param, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), param: param}
}

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

// flag reports whether any condition holds: "a.b" is true, "!a.b" is false, "a.b?" is true or absent from an a; "always".
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
