package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// openAI is vLLM's variant of OpenAI's API: https://github.com/vllm-project/vllm/tree/main/vllm/entrypoints/openai
type openAI struct {
	server *Server
	chat   bool // else completions
}

// openAIRequest holds the fields that the simulator obeys. vLLM ignores unknown ones as well.
type openAIRequest struct {
	Model               string
	Messages            []struct{ Content string }
	Prompt              string
	MaxTokens           *int   `json:"max_tokens"`
	MaxCompletionTokens *int   `json:"max_completion_tokens"`
	MinTokens           int    `json:"min_tokens"`
	IgnoreEOS           bool   `json:"ignore_eos"`
	CacheSalt           string `json:"cache_salt"`
	Stream              bool
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

func (d openAI) parse(body []byte) (question, *refusal) {
	var r openAIRequest
	if json.Unmarshal(body, &r) != nil {
		return question{}, bad("Invalid JSON body.")
	}
	profile := d.server.config.Profile
	p := r.prompt()
	q := question{
		prompt:     digestOf(p, r.CacheSalt),
		min:        r.MinTokens,
		endless:    r.IgnoreEOS || p.asks("do not stop"),
		usage:      r.StreamOptions.IncludeUsage,
		continuous: r.StreamOptions.ContinuousUsageStats,
	}
	if d.chat {
		q.reasoning = d.server.config.Reasoning
	}
	room := profile.MaxModelLen - q.prompt.tokens
	q.max = min(r.limit(d.chat, room), room)
	switch {
	case r.Model != "" && r.Model != profile.Model:
		return q, &refusal{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", r.Model)}
	case !r.Stream:
		return q, bad("stream: the simulator only streams, set it to true.")
	case d.chat != (len(r.Messages) > 0):
		return q, bad("want messages in a chat, and a prompt in a completion.")
	case room < 1:
		return q, bad("This model's maximum context length is %d tokens. However, your request has %d input tokens.",
			profile.MaxModelLen, q.prompt.tokens)
	case q.max < 1:
		return q, bad("max_tokens must be at least 1, got %d.", q.max)
	}
	return q, nil
}

// prompt is what the model would see.
func (r openAIRequest) prompt() prompt {
	if len(r.Messages) == 0 {
		return prompt{head: []uint32{beginID}, texts: []string{r.Prompt}}
	}
	// The chat template costs 13 tokens, the beginning of sequence among them.
	p := prompt{
		head: []uint32{beginID, 128006, 882, 128007, 271, 128020, 128021, 128022},
		tail: []uint32{endID, 128006, 78191, 128007, 271},
	}
	for _, m := range r.Messages {
		p.texts = append(p.texts, m.Content)
	}
	return p
}

// limit is how many tokens the answer may have at most; room is how many fit.
func (r openAIRequest) limit(chat bool, room int) int {
	switch {
	case chat && r.MaxCompletionTokens != nil:
		return *r.MaxCompletionTokens
	case r.MaxTokens != nil:
		return *r.MaxTokens
	case chat:
		return room
	}
	const completionsDefault = 16
	return completionsDefault
}

func (d openAI) encoder(a *answer) encoder {
	if d.chat {
		return openAIFrames{answer: a, chat: true, id: fmt.Sprintf("chatcmpl-%d", a.id), object: "chat.completion.chunk"}
	}
	return openAIFrames{answer: a, id: fmt.Sprintf("cmpl-%d", a.id), object: "text_completion"}
}

// openAIFrames encodes one answer.
type openAIFrames struct {
	*answer
	chat       bool
	id, object string // of each frame
}

// opening is the role frame of a chat.
func (f openAIFrames) opening() string {
	if !f.chat {
		return ""
	}
	return f.choice(`"delta":{"role":"assistant","content":""}`, "null", 0)
}

func (f openAIFrames) tokens(from, to int) string {
	text, finish := quoted(f.textOf(from, to)), "null"
	if to == f.want {
		finish = quoted(f.finish)
	}
	switch {
	case !f.chat:
		return f.choice(`"text":`+text, finish, to)
	case from < f.reasoning:
		return f.choice(`"delta":{"reasoning":`+text+`}`, finish, to)
	}
	return f.choice(`"delta":{"content":`+text+`}`, finish, to)
}

// choice is a frame after so many tokens.
func (f openAIFrames) choice(said, finish string, sent int) string {
	choice := fmt.Sprintf(`{"index":0,%s,"logprobs":null,"finish_reason":%s}`, said, finish)
	if f.continuous {
		return f.chunk(choice, f.counts(sent)+"}")
	}
	return f.chunk(choice, "")
}

// chunk is a frame with a choice and usage; either may be empty.
func (f openAIFrames) chunk(choice, usage string) string {
	if usage != "" {
		usage = `,"usage":` + usage
	}
	return event(fmt.Sprintf(`{"id":%q,"object":%q,"created":%d,"model":%s,"choices":[%s]%s}`,
		f.id, f.object, f.start.Unix(), quoted(f.server.config.Profile.Model), choice, usage))
}

// counts is the beginning of usage after so many tokens.
func (f openAIFrames) counts(sent int) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d`,
		f.prompt.tokens, f.prompt.tokens+sent, sent)
}

// closing is the usage of the whole answer, if it was asked for, and the end.
func (f openAIFrames) closing() string {
	if !f.usage {
		return event("[DONE]")
	}
	details := fmt.Sprintf(`,"prompt_tokens_details":{"cached_tokens":%d}`, f.cached)
	if f.reasoning > 0 {
		details += fmt.Sprintf(`,"completion_tokens_details":{"reasoning_tokens":%d}`, f.reasoning)
	}
	return f.chunk("", f.counts(f.want)+details+"}") + event("[DONE]")
}

func (f openAIFrames) failure() string {
	return event(openAIError(engineFailed)) + event("[DONE]")
}

// openAIError is the document of an error.
func openAIError(r refusal) string {
	kind := map[int]string{
		http.StatusUnauthorized:        "authentication_error",
		http.StatusNotFound:            "NotFoundError",
		http.StatusTooManyRequests:     "RateLimitError",
		http.StatusServiceUnavailable:  "ServiceUnavailableError",
		http.StatusInternalServerError: "InternalServerError",
	}[r.status]
	if kind == "" {
		kind = "BadRequestError"
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%q,"param":null,"code":%d}}`, quoted(r.message), kind, r.status)
}

// openAIRoutes registers the routes of vLLM.
func (s *Server) openAIRoutes() {
	length := s.config.Profile.MaxModelLen
	s.mux.HandleFunc("POST /v1/chat/completions", s.generate(openAI{s, true}))
	s.mux.HandleFunc("POST /v1/completions", s.generate(openAI{s, false}))
	s.mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": "0.11.0"})
	})
	s.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		model := map[string]any{
			"id": s.config.Profile.Model, "object": "model", "created": s.created.Unix(), "owned_by": "vllm",
			"max_model_len": length,
		}
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{model}})
	})
	s.mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
		var request openAIRequest
		if s.readJSON(w, r, &request) {
			ids := request.prompt().tokens()
			writeJSON(w, http.StatusOK, map[string]any{"count": len(ids), "max_model_len": length, "tokens": ids})
		}
	})
}
