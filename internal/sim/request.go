package sim

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"path"
	"slices"
	"strings"
)

// ask is what a request asks for.
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
	f := fieldsOf(body)
	if f == nil {
		return ask{}, bad("", "Invalid JSON body.")
	}
	q := ask{flags: map[string]bool{}}
	for name, conditions := range r.Flags {
		q.flags[name] = f.flag(conditions)
	}
	refused := r.checkFields(f, c)
	if refused == nil {
		refused = r.checkModel(f, c, model)
	}
	if refused != nil {
		return q, refused
	}
	p, refused := r.prompt(f)
	if refused != nil {
		return q, refused
	}
	salt, refused := r.salt(f)
	if refused != nil {
		return q, refused
	}
	q.prompt, q.endless = p.digest(salt), q.flags["endless"] || p.endless()
	if refused := r.lengths(f, &q, c.Profile.MaxModelLen); refused != nil {
		return q, refused
	}
	if g.Answer.Thought != "" || g.Answer.HidesAll {
		q.reasoning = r.reasoning(f, c.Reasoning)
	}
	if r.Replays && !q.flags["fresh"] {
		sum := fnv.New64a()
		_, _ = sum.Write(body) // never fails
		q.replay = s.replays.knew(sum.Sum64())
	}
	return q, nil
}

// checkFields judges which fields there are.
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
	if f.at("stream_options") != nil && !f.flag([]string{"stream"}) {
		return bad("stream_options", "Stream options can only be defined when `stream=True`.")
	}
	return nil
}

// checkModel judges the model that is named in the path or else in the body.
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

// salt joins the fields that key the prefix cache.
func (r *requestFormat) salt(f fields) (salt string, refused *refusal) {
	for _, field := range r.Salt {
		text := f.text(field)
		if text == "" && f.at(field) != nil {
			return "", bad(field, "Parameter '%s' must be a non-empty string if provided.", field)
		}
		salt += text
	}
	return salt, nil
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
	case q.min < 0 || q.min > q.max:
		return bad("", "The least tokens of an answer must be 0 to %d, got %d.", q.max, q.min)
	case r.NoClamp && q.max > room:
		return bad("", "Input and new tokens must be <= %d. Given: %d input tokens and %d new tokens", context, q.prompt.tokens, q.max)
	}
	q.max = min(q.max, room)
	return nil
}

// reasoning is how many tokens the model thinks: what the configuration says, or none if the request says so.
func (r *requestFormat) reasoning(f fields, configured int) int {
	raw := f.at(r.Thinking)
	if thinking := fieldsOf(raw); string(raw) == "false" || thinking != nil && thinking.text("type") != "enabled" {
		return 0
	}
	return configured
}

// prompt is the prompt of a request.
func (p promptFields) prompt(f fields) (prompt, *refusal) {
	for _, field := range p.IDs {
		var ids []uint32
		if raw := f.at(field); raw != nil {
			if json.Unmarshal(raw, &ids) != nil || len(ids) == 0 {
				return prompt{}, bad(field, "%s must be a list of token ids.", field)
			}
			return prompt{ids: ids}, nil
		}
	}
	var messages []string
	for _, field := range p.Messages {
		messages = append(messages, texts(f.at(field))...)
	}
	if len(messages) > 0 {
		return chatPrompt(messages), nil
	}
	for _, field := range p.Text {
		if out, ok := readPrompt(f.at(field)); ok && (len(out.ids) == 0 || !p.NoIDs) {
			if len(p.Begin) > 0 && !f.flag(p.Begin) {
				out.head = nil
			}
			return out, nil
		}
	}
	wanted := strings.Join(slices.Concat(p.Messages, p.Text), " or ")
	return prompt{}, bad(wanted, "%s: want a prompt.", wanted)
}

// readPrompt takes a text, a list of token ids and texts, or a list of one of these.
func readPrompt(raw json.RawMessage) (prompt, bool) {
	var text string
	if raw != nil && json.Unmarshal(raw, &text) == nil {
		return plainPrompt(text), text != ""
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return prompt{}, false
	}
	if len(list) == 1 && list[0][0] != '-' && (list[0][0] < '0' || list[0][0] > '9') {
		return readPrompt(list[0])
	}
	var p prompt
	for i, piece := range list {
		var id uint32
		if json.Unmarshal(piece, &id) == nil {
			p.ids = append(p.ids, id)
			continue
		}
		if json.Unmarshal(piece, &text) != nil {
			return prompt{}, false
		}
		if i == 0 {
			p.head = []uint32{beginID}
		}
		p.ids = slices.AppendSeq(p.ids, prompt{texts: []string{text}}.tokens())
		p.read = append(p.read, text)
	}
	return p, true
}

// bad is a 400.
func bad(param, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), param: param}
}
