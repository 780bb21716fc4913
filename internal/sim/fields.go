package sim

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
)

// How a kind looks at the fields of a request: which it does not know, which it calls by other names.

// fieldsOf is a JSON object; nil if it is none.
func fieldsOf(body []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return nil
	}
	return fields
}

// translate spells a request as vLLM would read it: without the fields that do nothing, others by vLLM's names. What is
// no JSON object stays as it is.
func (how *routeFormat) translate(body []byte) []byte {
	if len(how.ignores) == 0 && len(how.renames) == 0 {
		return body
	}
	fields := fieldsOf(body)
	if fields == nil {
		return body
	}
	for _, field := range how.ignores {
		drop(fields, field)
	}
	for from, to := range how.renames {
		if value, ok := fields[from]; ok {
			fields[to] = value
		}
	}
	return mustJSON(fields)
}

// drop takes a field away, dots lead inside.
func drop(fields map[string]json.RawMessage, field string) {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		delete(fields, field)
		return
	}
	if inside := fieldsOf(fields[outer]); inside != nil {
		drop(inside, inner)
		fields[outer] = mustJSON(inside)
	}
}

// flip sets what the true or false fields of a request say.
func (how *routeFormat) flip(body []byte, q *ask) {
	for field, set := range how.switches {
		_, raw, ok := rejectedField(body, []string{field})
		if on := false; ok && json.Unmarshal(raw, &on) == nil {
			set(q, on)
		}
	}
}

// saltOf joins the fields that key the prefix cache; empty reports one that is there but empty. The usual one was read
// with the request.
func saltOf(r openAIRequest, fields []string) (salt string, empty bool) {
	for _, field := range fields {
		text := r.CacheSalt
		if field != "cache_salt" {
			_, raw, ok := rejectedField(r.body, []string{field})
			if text = nil; !ok || json.Unmarshal(raw, &text) != nil {
				continue
			}
		}
		if text == nil {
			continue
		}
		empty = empty || *text == ""
		salt += *text
	}
	return salt, empty
}

// foreign is a field that a kind's schema lacks.
type foreign struct {
	field string // dots lead inside
	value json.RawMessage
}

// pydantic is what TensorRT-LLM's validation says of it.
func (f foreign) pydantic() string {
	return fmt.Sprintf("{'type': 'extra_forbidden', 'loc': (%s), 'msg': 'Extra inputs are not permitted', 'input': %s}", pythonLoc(f.field), pythonValue(f.value))
}

// foreigners are the fields of a body that a schema lacks, in alphabetical order; one level inside too, where the schema
// has fields with dots.
func foreigners(body []byte, schema []string) []foreign {
	var out []foreign
	fields := fieldsOf(body)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(schema, key) {
			out = append(out, foreign{key, fields[key]})
			continue
		}
		if !slices.ContainsFunc(schema, func(s string) bool { return strings.HasPrefix(s, key+".") }) {
			continue
		}
		inside := fieldsOf(fields[key])
		for _, inner := range slices.Sorted(maps.Keys(inside)) {
			if name := key + "." + inner; !slices.Contains(schema, name) {
				out = append(out, foreign{name, inside[inner]})
			}
		}
	}
	return out
}

// strangers refuses a request with fields that a strict kind does not know.
func (d openAI) strangers(body []byte, how *routeFormat) *refusal {
	if !d.kind.strict && !d.kind.platform {
		return nil
	}
	found := foreigners(body, how.schema)
	if d.kind.platform {
		return d.unsupported(body, how, found)
	}
	if len(found) == 0 {
		return nil
	}
	var told []string
	for _, f := range found {
		told = append(told, f.pydantic())
	}
	return bad("", "[%s]", strings.Join(told, ", "))
}

// unsupported words it as the OpenAI platform does: all unknown arguments at once, else the first unknown field inside
// another, else a field that another has replaced.
func (openAI) unsupported(body []byte, how *routeFormat, found []foreign) *refusal {
	var top []string
	for _, f := range found {
		if !strings.Contains(f.field, ".") {
			top = append(top, f.field)
		}
	}
	switch {
	case len(top) == 1:
		return bad("", "Unrecognized request argument supplied: %s", top[0])
	case len(top) > 1:
		return bad("", "Unrecognized request arguments supplied: %s", strings.Join(top, ", "))
	case len(found) > 0:
		refused := bad(found[0].field, "Unknown parameter: '%s'.", found[0].field)
		refused.name = "unknown_parameter"
		return refused
	}
	if field, _, ok := rejectedField(body, slices.Sorted(maps.Keys(how.instead))); ok {
		refused := bad(field, "Unsupported parameter: '%s' is not supported with this model. Use '%s' instead.", field, how.instead[field])
		refused.name = "unsupported_parameter"
		return refused
	}
	return nil
}

// rejectedField finds the first of the fields, dots lead inside, that a body holds.
func rejectedField(body []byte, fields []string) (field string, value json.RawMessage, ok bool) {
	for _, field := range fields {
		value := json.RawMessage(body)
		found := true
		for key := range strings.SplitSeq(field, ".") {
			var object map[string]json.RawMessage
			if json.Unmarshal(value, &object) != nil {
				found = false
				break
			}
			if value, found = object[key]; !found {
				break
			}
		}
		if found {
			return field, value, true
		}
	}
	return "", nil, false
}

// pythonLoc is the inside of a pydantic location tuple.
func pythonLoc(field string) string {
	return "'body', '" + strings.ReplaceAll(field, ".", "', '") + "'"
}

// pythonValue is a JSON value as Python prints it, closely enough for an error message.
func pythonValue(raw json.RawMessage) string {
	switch text := string(raw); {
	case text == "true":
		return "True"
	case text == "false":
		return "False"
	case text == "null":
		return "None"
	case strings.HasPrefix(text, `"`):
		var s string
		_ = json.Unmarshal(raw, &s) // it was valid as part of the body
		return "'" + s + "'"
	default:
		return text
	}
}

// keptReplays is how many requests a response cache remembers at most.
const keptReplays = 1000

// replays is a response cache that remembers requests, not answers: the simulator says the same again. It is safe for
// concurrent use.
type replays struct {
	mu   sync.Mutex
	sums []uint64 // guarded by mu; oldest first
}

// again reports whether a request was there before, and remembers it.
func (c *replays) again(body []byte) bool {
	h := fnv.New64a()
	_, _ = h.Write(body) // never fails
	sum := h.Sum64()
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.sums, sum) {
		return true
	}
	if len(c.sums) == keptReplays {
		c.sums = c.sums[1:]
	}
	c.sums = append(c.sums, sum)
	return false
}
