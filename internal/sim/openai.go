package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// What the two OpenAI dialects, chat.go and completions.go, have in common. How servers differ stands in kinds.go.

// openAIRequest holds the fields of a request that the simulator knows; others are accepted and ignored, as vLLM does,
// unless the kind is strict.
type openAIRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Prompt              json.RawMessage `json:"prompt"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	Temperature         *float64        `json:"temperature"`
	Seed                *int64          `json:"seed"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	CacheSalt           *string         `json:"cache_salt"`

	body []byte
	how  *routeFormat
	salt string
	ids  []uint32 // in place of the prompt
}

type streamOptions struct {
	IncludeUsage         *bool `json:"include_usage"`
	ContinuousUsageStats *bool `json:"continuous_usage_stats"`
}

// message is one message of a chat; its content may be a string or a list of parts.
type message struct {
	Role    string  `json:"role"`
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

// openAI is what both dialects do alike.
type openAI struct {
	kind *kind
	seen *replays
}

func (d openAI) limit() int64 { return d.kind.limit }

// refuse spells a refusal as the kind does, or flat as TensorRT-LLM does.
func (d openAI) refuse(r refusal) reply {
	k := d.kind
	if as, ok := k.statuses[r.status]; ok {
		r.status = as
	}
	template := k.failure
	out := reply{status: r.status, contentType: "application/json"}
	switch {
	case r.flat:
		template = flatError
	case r.inside && k.inside != "":
		template, out.status, out.contentType = k.inside, http.StatusOK, "text/event-stream"
	case r.tokens > 0 && k.tooLongAs != 0:
		r.status, out.status = k.tooLongAs, k.tooLongAs
	case r.tokens > 0 && k.tooLong != "":
		template = k.tooLong
	case k.outer != "" && (r.outer || r.status == http.StatusNotFound || r.status == http.StatusServiceUnavailable):
		template = k.outer
	}
	out.body = []byte(expand(template, func(name string) string {
		text, _ := k.told(r, name)
		return text
	}))
	return out
}

// deny refuses a request that was understood so far.
func (openAI) deny(r openAIRequest, refused *refusal) (ask, *refusal) {
	refused.inside = r.Stream && !refused.outer
	return ask{}, refused
}

// parse decodes and checks what does not depend on the dialect.
func (d openAI) parse(body []byte, how *routeFormat, c Config) (openAIRequest, *refusal) {
	k := d.kind
	r := openAIRequest{body: body, how: how}
	if err := json.Unmarshal(how.translate(body), &r); err != nil {
		refused := bad("", "Invalid JSON body: %v", err)
		refused.outer = true
		return openAIRequest{}, refused
	}
	if field, value, ok := rejectedField(body, c.RejectFields); ok {
		refused := bad("", "[%s]", foreign{field, value}.pydantic())
		refused.flat = true
		return r, refused
	}
	if refused := d.strangers(body, how); refused != nil {
		return r, refused
	}
	emptySalt := false
	r.salt, emptySalt = saltOf(r, k.salts)
	if k.tokenData != "" {
		if _, raw, ok := rejectedField(body, []string{k.tokenData}); ok && json.Unmarshal(raw, &r.ids) != nil {
			return r, bad(k.tokenData, "%s must be a list of token ids.", k.tokenData)
		}
	}
	switch {
	case r.Model == "" && k.needsModel:
		refused := bad("", "Invalid request: missing 'model' in request body.")
		refused.outer = true
		return r, refused
	case r.Model != "" && r.Model != c.Model && !k.anyModel:
		return r, &refusal{status: http.StatusNotFound, message: fmt.Sprintf("The model `%s` does not exist.", r.Model), param: "model"}
	case r.StreamOptions != nil && !r.Stream:
		return r, bad("stream_options", "Stream options can only be defined when `stream=True`.")
	case emptySalt:
		return r, bad("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.")
	case r.MinTokens < 0:
		return r, bad("min_tokens", "min_tokens must be greater than or equal to 0, got %d.", r.MinTokens)
	}
	return r, nil
}

// plan turns a request and its prompt into an ask. The most tokens are fallback (0: whatever fits) if the request does
// not say, and silently clamped to what fits the model, unless the kind refuses.
func (d openAI) plan(r openAIRequest, p prompt, limit *int, fallback int, c Config) (ask, *refusal) {
	q := ask{
		prompt: p.digest(r.salt),
		min:    r.MinTokens, endless: r.IgnoreEOS || p.endless(),
		stream: r.Stream,
	}
	if o := r.StreamOptions; o != nil {
		q.usage = orElse(o.IncludeUsage, d.kind.optioned)
		q.continuous = q.usage && orElse(o.ContinuousUsageStats, d.kind.optioned)
	}
	room := c.Profile.MaxModelLen - q.prompt.tokens
	if room < 1 {
		refused := bad("", "This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the length of the input messages.",
			c.Profile.MaxModelLen, q.prompt.tokens)
		refused.tokens, refused.length = q.prompt.tokens, c.Profile.MaxModelLen
		return d.deny(r, refused)
	}
	q.max = room
	if limit != nil {
		q.max = *limit
	} else if fallback > 0 {
		q.max = fallback
	}
	if refused := d.misfit(q, room); refused != nil {
		return d.deny(r, refused)
	}
	q.max = min(q.max, room)
	r.how.flip(r.body, &q)
	if d.kind.replays && !q.fresh {
		q.replay = d.seen.again(r.body)
	}
	return q, nil
}

// misfit judges the lengths that were asked for.
func (d openAI) misfit(q ask, room int) *refusal {
	switch {
	case q.max < 1:
		return bad("max_tokens", "max_tokens must be at least 1, got %d.", q.max)
	case q.min > q.max:
		return bad("min_tokens", "min_tokens must be less than or equal to max_tokens=%d, got %d.", q.max, q.min)
	case d.kind.noClamp && q.max > room:
		return bad("", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= %d. Given: %d `inputs` tokens and %d `max_new_tokens`",
			q.prompt.tokens+room, q.prompt.tokens, q.max)
	}
	return nil
}

// orElse is what a flag says, other if it was not given.
func orElse(flag *bool, other bool) bool {
	if flag == nil {
		return other
	}
	return *flag
}

// bad is a 400.
func bad(param, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), param: param}
}

// requestID is the client's X-Request-Id or a number of 32 digits.
func (a *answer) requestID() string {
	if id := a.header.Get("X-Request-Id"); id != "" {
		return id
	}
	return fmt.Sprintf("%032x", a.id)
}
