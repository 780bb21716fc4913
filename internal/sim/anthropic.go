package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// What the Messages API knows of thinking.
const (
	leastThinking   = 1024 // of budget_tokens
	defaultThinking = 16   // tokens of an answer that was asked to think, where the server's configuration does not say
)

// anthropic is Anthropic's Messages API: POST /v1/messages.
type anthropic struct{}

// anthropicRequest holds the fields that the simulator knows.
type anthropicRequest struct {
	Model     string    `json:"model"`
	MaxTokens *int      `json:"max_tokens"`
	System    content   `json:"system"`
	Messages  []message `json:"messages"`
	Stream    bool      `json:"stream"`
	Thinking  *struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
}

// anthropicFields are the fields that the API takes; it refuses others.
func anthropicFields() []string {
	return []string{
		"model", "max_tokens", "system", "messages", "stream", "thinking", "temperature", "top_p", "top_k", "metadata",
		"service_tier", "stop_sequences", "tools", "tool_choice", "container", "context_management", "mcp_servers",
	}
}

// unknownFields are the top-level keys of an object that are not among the known ones, sorted.
func unknownFields(body []byte, known []string) []string {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(body, &object) // who asks has decoded it before
	return slices.DeleteFunc(sortedKeys(object), func(key string) bool { return slices.Contains(known, key) })
}

func (anthropic) limit() int64 { return 32 << 20 }

func (anthropic) read(body []byte, c Config) (ask, *refusal) {
	r, refused := anthropicParse(body, c)
	if refused != nil {
		return ask{}, refused
	}
	p := r.prompt()
	q := ask{
		prompt: p.digest(""), endless: p.endless(), stream: r.Stream,
		uncached: !cacheControlled(body), more: cacheControlled(body), reasoning: c.Reasoning,
	}
	if r.MaxTokens == nil {
		return q, bad("", "max_tokens: Field required")
	}
	q.max = *r.MaxTokens
	room := c.Profile.MaxModelLen - q.prompt.tokens
	switch {
	case q.max < 1:
		return q, bad("", "max_tokens: Input should be greater than or equal to 1")
	case room < 1:
		return q, bad("", "prompt is too long: %d tokens > %d maximum", q.prompt.tokens, c.Profile.MaxModelLen-1)
	case q.max > room:
		return q, bad("", "input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again",
			q.prompt.tokens, q.max, c.Profile.MaxModelLen)
	}
	return r.think(q)
}

// anthropicParse decodes and checks what counting tokens needs as well.
func anthropicParse(body []byte, c Config) (anthropicRequest, *refusal) {
	var r anthropicRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, bad("", "The request body is not valid JSON: %v", err)
	}
	if unknown := unknownFields(body, anthropicFields()); len(unknown) > 0 {
		return r, bad("", "%s: Extra inputs are not permitted", unknown[0])
	}
	switch {
	case r.Model == "":
		return r, bad("", "model: Field required")
	case r.Model != c.Model:
		return r, &refusal{status: http.StatusNotFound, message: "model: " + r.Model}
	case len(r.Messages) == 0:
		return r, bad("", "messages: at least one message is required")
	}
	return r, nil
}

// cacheControlled reports whether a request asks for its prompt to be cached: a key's closing quote is never escaped.
func cacheControlled(body []byte) bool { return bytes.Contains(body, []byte(`"cache_control"`)) }

func (r anthropicRequest) prompt() prompt {
	return chatPrompt(append([]string{string(r.System)}, texts(r.Messages)...))
}

// think adds what the request says of thinking.
func (r anthropicRequest) think(q ask) (ask, *refusal) {
	switch {
	case r.Thinking == nil:
	case r.Thinking.Type != "enabled":
		q.reasoning = 0
	case r.Thinking.Budget < leastThinking:
		return q, bad("", "thinking.enabled.budget_tokens: Input should be greater than or equal to %d", leastThinking)
	case r.Thinking.Budget >= q.max:
		return q, bad("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	default:
		if q.reasoning == 0 {
			q.reasoning = defaultThinking
		}
		q.reasoning = min(q.reasoning, r.Thinking.Budget)
	}
	return q, nil
}

func (anthropic) refuse(r refusal) reply {
	if r.status == http.StatusUnauthorized && r.kind != "" {
		r.message = "invalid x-api-key"
	}
	return reply{status: r.status, contentType: "application/json", body: anthropicError(r.status, r.message)}
}

func anthropicError(status int, message string) []byte {
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	return mustJSON(struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
	}{"error", detail{anthropicErrorType(status), message}})
}

func anthropicErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case statusOverloaded:
		return "overloaded_error"
	}
	if status < http.StatusInternalServerError {
		return "invalid_request_error"
	}
	return "api_error"
}

// event is a server-sent event with a name.
func event(name, data string) []byte { return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data) }

// speak sends message_start with acceptance, the start of the first block and a ping with the first token.
func (anthropic) speak(a *answer) script {
	shown := a.reasoning - a.hidden
	kind := "text"
	if shown > 0 {
		kind = "thinking"
	}
	ping := event("ping", `{"type":"ping"}`)
	s := script{
		prelude: event("message_start", `{"type":"message_start","message":`+string(mustJSON(a.anthropicMessage([]any{}, nil, 1)))+`}`),
		opening: append(blockStart(0, kind), ping...),
		failure: event("error", string(anthropicError(http.StatusInternalServerError, "Simulated fault: the engine failed."))),
		comment: ping,
		whole:   func() any { return a.anthropicDocument() },
	}
	s.frame = func(from, to int) []byte {
		index := 0
		var out []byte
		if shown > 0 && from >= a.reasoning {
			index = 1
		}
		if index == 1 && from == a.reasoning {
			out = append(blockStop(0, "thinking"), blockStart(1, "text")...)
		}
		out = append(out, a.blockDelta(index, from, to)...)
		if to == a.want {
			out = append(out, a.anthropicEnd(index, from < a.reasoning && shown > 0)...)
		}
		return out
	}
	return s
}

// blockStart, blockDelta and blockStop are the events of a content block of the kind "text" or "thinking".
func blockStart(index int, kind string) []byte {
	more := ""
	if kind == "thinking" {
		more = `,"signature":""`
	}
	return event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"%s","%s":""%s}}`, index, kind, kind, more))
}

// blockDelta is empty for the invisible end.
func (a *answer) blockDelta(index, from, to int) []byte {
	kind, text := "text", a.textOf(from, to)
	if text == "" {
		return nil
	}
	if from < a.reasoning {
		kind = "thinking"
	}
	return event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"%s_delta","%s":%s}}`, index, kind, kind, mustJSON(text)))
}

func blockStop(index int, kind string) []byte {
	stop := event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
	if kind != "thinking" {
		return stop
	}
	signature := event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":"c2ltdWxhdGVk"}}`, index))
	return append(signature, stop...)
}

// anthropicEnd closes the last block and the message.
func (a *answer) anthropicEnd(index int, thinking bool) []byte {
	kind := "text"
	if thinking {
		kind = "thinking"
	}
	out := blockStop(index, kind)
	out = append(out, event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":"%s","stop_sequence":null},"usage":%s}`,
		a.stopReason(), mustJSON(a.anthropicUsage(a.want))))...)
	return append(out, event("message_stop", `{"type":"message_stop"}`)...)
}

func (a *answer) stopReason() string {
	if a.finish == "stop" {
		return "end_turn"
	}
	return "max_tokens"
}

// anthropicUsage splits the prompt: what was read from the cache, what was written to it, and the rest.
type anthropicUsage struct {
	Input   int `json:"input_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
}

func (a *answer) anthropicUsage(output int) anthropicUsage {
	u := anthropicUsage{Read: a.cached, Output: output}
	if cached, _ := a.more.(bool); cached {
		u.Created = (a.prompt.tokens-1)/blockSize*blockSize - a.cached
	}
	u.Input = a.prompt.tokens - u.Read - u.Created
	return u
}

// anthropicMessage is the message with the given content; stop is nil while it is not over.
func (a *answer) anthropicMessage(content []any, stop *string, output int) any {
	return struct {
		ID       string         `json:"id"`
		Type     string         `json:"type"`
		Role     string         `json:"role"`
		Model    string         `json:"model"`
		Content  []any          `json:"content"`
		Stop     *string        `json:"stop_reason"`
		Sequence *string        `json:"stop_sequence"`
		Usage    anthropicUsage `json:"usage"`
	}{fmt.Sprintf("msg_%024d", a.id), "message", "assistant", a.model, content, stop, nil, a.anthropicUsage(output)}
}

// anthropicDocument is the answer without a stream.
func (a *answer) anthropicDocument() any {
	type thinking struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var blocks []any
	if a.reasoning > a.hidden {
		blocks = append(blocks, thinking{"thinking", a.thoughts(), "c2ltdWxhdGVk"})
	}
	stop := a.stopReason()
	return a.anthropicMessage(append(blocks, text{"text", a.content()}), &stop, a.want)
}

// anthropicRoutes are those of Anthropic's API. All want the key and the header anthropic-version.
func (s *Server) anthropicRoutes() {
	route := func(pattern string, h http.HandlerFunc) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if strings.TrimSpace(r.Header.Get("Anthropic-Version")) == "" {
				anthropic{}.refuse(*bad("", "anthropic-version: header is required")).write(w)
				return
			}
			h(w, r)
		})
	}
	route("POST /v1/messages", s.compute(anthropic{}))
	route("GET /v1/models", s.guarded(anthropic{}.refuse, s.anthropicModels))
	if !s.config.NoTokenize {
		route("POST /v1/messages/count_tokens", s.guarded(anthropic{}.refuse, s.anthropicCount))
	}
}

func (s *Server) anthropicModels(w http.ResponseWriter, _ *http.Request) {
	type card struct {
		Type    string    `json:"type"`
		ID      string    `json:"id"`
		Name    string    `json:"display_name"`
		Created time.Time `json:"created_at"`
	}
	writeJSON(w, http.StatusOK, struct {
		Data  []card `json:"data"`
		More  bool   `json:"has_more"`
		First string `json:"first_id"`
		Last  string `json:"last_id"`
	}{[]card{{"model", s.config.Model, s.config.Model, s.created.UTC()}}, false, s.config.Model, s.config.Model})
}

func (s *Server) anthropicCount(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, anthropic{}.limit()))
	if err != nil {
		anthropic{}.refuse(refusal{status: http.StatusRequestEntityTooLarge, message: err.Error()}).write(w)
		return
	}
	q, refused := anthropicParse(body, s.config)
	if refused != nil {
		anthropic{}.refuse(*refused).write(w)
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": digestOf(q.prompt().tokens(), "").tokens})
}
