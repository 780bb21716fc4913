package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// What the two OpenAI dialects, chat.go and completions.go, have in common, in vLLM's spelling.

// doneFrame ends every OpenAI stream, also after an error.
const doneFrame = "data: [DONE]\n\n"

// openAIRequest holds the fields of a request that the simulator knows; others are accepted and ignored, as vLLM does.
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
	StreamOptions       *struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	CacheSalt *string `json:"cache_salt"`
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
type openAI struct{}

func (openAI) limit() int64 { return openAIBodyLimit }

// refuse spells a refusal as vLLM does, or flat as TensorRT-LLM does.
func (openAI) refuse(r refusal) reply {
	type body struct {
		Object  string  `json:"object,omitempty"`
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	}
	b := body{Message: r.message, Type: r.kind, Code: r.status}
	if b.Type == "" {
		b.Type = openAIErrorType(r.status)
	}
	if r.param != "" {
		b.Param = &r.param
	}
	out := reply{status: r.status, contentType: "application/json"}
	if r.flat {
		b.Object = "error"
		out.body = mustJSON(b)
		return out
	}
	out.body = mustJSON(map[string]body{"error": b})
	return out
}

func openAIErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "authentication_error"
	case http.StatusNotFound:
		return "NotFoundError"
	case http.StatusTooManyRequests:
		return "RateLimitError"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailableError"
	case statusOverloaded:
		return "overloaded_error"
	}
	if status < http.StatusInternalServerError {
		return "BadRequestError"
	}
	return "InternalServerError"
}

// parse decodes and checks what does not depend on the dialect.
func (openAI) parse(body []byte, c Config) (openAIRequest, *refusal) {
	var r openAIRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, bad("", "Invalid JSON body: %v", err)
	}
	if field, value, ok := rejectedField(body, c.RejectFields); ok {
		refused := bad("", "[{'type': 'extra_forbidden', 'loc': (%s), 'msg': 'Extra inputs are not permitted', 'input': %s}]", pythonLoc(field), pythonValue(value))
		refused.flat = true
		return r, refused
	}
	switch {
	case r.Model != "" && r.Model != c.Model:
		return r, &refusal{status: http.StatusNotFound, message: fmt.Sprintf("The model `%s` does not exist.", r.Model), param: "model"}
	case r.StreamOptions != nil && !r.Stream:
		return r, bad("stream_options", "Stream options can only be defined when `stream=True`.")
	case r.CacheSalt != nil && *r.CacheSalt == "":
		return r, bad("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.")
	case r.MinTokens < 0:
		return r, bad("min_tokens", "min_tokens must be greater than or equal to 0, got %d.", r.MinTokens)
	}
	return r, nil
}

// plan turns a request and its prompt into an ask. The most tokens are fallback (0: whatever fits) if the request does
// not say, and silently clamped to what fits the model.
func (openAI) plan(r openAIRequest, p prompt, limit *int, fallback int, c Config) (ask, *refusal) {
	salt := ""
	if r.CacheSalt != nil {
		salt = *r.CacheSalt
	}
	q := ask{
		prompt: p.digest(salt),
		min:    r.MinTokens, endless: r.IgnoreEOS || p.endless(),
		stream: r.Stream,
	}
	if o := r.StreamOptions; o != nil {
		q.usage = o.IncludeUsage
		q.continuous = o.IncludeUsage && o.ContinuousUsageStats
	}
	room := c.Profile.MaxModelLen - q.prompt.tokens
	if room < 1 {
		return q, bad("", "This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the length of the input messages.",
			c.Profile.MaxModelLen, q.prompt.tokens)
	}
	q.max = room
	if limit != nil {
		q.max = *limit
	} else if fallback > 0 {
		q.max = fallback
	}
	if q.max < 1 {
		return q, bad("max_tokens", "max_tokens must be at least 1, got %d.", q.max)
	}
	if q.min > q.max {
		return q, bad("min_tokens", "min_tokens must be less than or equal to max_tokens=%d, got %d.", q.max, q.min)
	}
	q.max = min(q.max, room)
	return q, nil
}

// bad is a 400.
func bad(param, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), param: param}
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

// usage is vLLM's UsageInfo.
type usage struct {
	Prompt     int                `json:"prompt_tokens"`
	Total      int                `json:"total_tokens"`
	Completion int                `json:"completion_tokens"`
	Details    *usageDetails      `json:"prompt_tokens_details,omitempty"`
	Parts      *completionDetails `json:"completion_tokens_details,omitempty"`
}

type usageDetails struct {
	Cached int `json:"cached_tokens"`
}

type completionDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

func (a *answer) usageAt(completion int) usage {
	return usage{Prompt: a.prompt.tokens, Total: a.prompt.tokens + completion, Completion: completion}
}

func (a *answer) fullUsage() usage {
	u := a.usageAt(a.want)
	u.Details = &usageDetails{Cached: a.cached}
	if a.reasoning > 0 {
		u.Parts = &completionDetails{Reasoning: a.reasoning}
	}
	return u
}

// requestID is the client's X-Request-Id or a number of 32 digits.
func (a *answer) requestID() string {
	if id := a.header.Get("X-Request-Id"); id != "" {
		return id
	}
	return fmt.Sprintf("%032x", a.id)
}

// openAIScript spells an answer; delta spells what "choices":[…] holds for the tokens [from, to), whole the document.
func openAIScript(a *answer, id, object string, opening string, choice func(from, to int) string, whole func() any) script {
	head := fmt.Sprintf(`data: {"id":%s,"object":"%s","created":%d,"model":%s,"choices":[`, mustJSON(id), object, a.start.Unix(), mustJSON(a.model))
	frame := func(choice string, completion int) []byte {
		out := append([]byte(head), choice...)
		out = append(out, ']')
		if a.continuous {
			out = fmt.Appendf(out, `,"usage":%s`, mustJSON(a.usageAt(completion)))
		}
		return append(out, "}\n\n"...)
	}
	s := script{
		frame:   func(from, to int) []byte { return frame(choice(from, to), to) },
		failure: append(openAIFailure(), doneFrame...),
		comment: []byte(": ping\n\n"),
		whole:   whole,
	}
	if opening != "" {
		s.opening = frame(opening, 0)
	}
	if a.usage {
		s.closing = fmt.Appendf(nil, `%s],"usage":%s}`+"\n\n", head, mustJSON(a.fullUsage()))
		if a.fault.DoubleUsage {
			s.closing = fmt.Appendf(s.closing, `%s],"usage":%s}`+"\n\n", head, mustJSON(a.usageAt(a.want)))
		}
	}
	s.closing = append(s.closing, doneFrame...)
	return s
}

func openAIFailure() []byte {
	r := openAI{}.refuse(refusal{status: http.StatusInternalServerError, message: "Simulated fault: the engine failed."})
	return fmt.Appendf(nil, "data: %s\n\n", r.body)
}

// endOf is the JSON of the finish reason of a frame that ends before token to.
func (a *answer) endOf(to int) string {
	if to < a.want {
		return `"finish_reason":null`
	}
	return fmt.Sprintf(`"finish_reason":"%s","stop_reason":null`, a.finish)
}

// tokenizePrompt is the prompt of a /tokenize request, which is that of chat or completions.
func tokenizePrompt(body io.Reader) (prompt, *refusal) {
	var r struct {
		Messages []message `json:"messages"`
		Prompt   *string   `json:"prompt"`
		Special  *bool     `json:"add_special_tokens"`
	}
	switch err := json.NewDecoder(body).Decode(&r); {
	case err != nil:
		return prompt{}, bad("", "Invalid JSON body: %v", err)
	case len(r.Messages) > 0:
		return chatPrompt(texts(r.Messages)), nil
	case r.Prompt == nil:
		return prompt{}, bad("prompt", "Either prompt or messages is required.")
	case r.Special != nil && !*r.Special:
		return prompt{texts: []string{*r.Prompt}}, nil
	}
	return plainPrompt(*r.Prompt), nil
}
