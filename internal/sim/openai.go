package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// openAI is vLLM's variant of OpenAI's API: https://github.com/vllm-project/vllm/tree/main/vllm/entrypoints/openai
type openAI struct {
	server *Server
	chat   bool // else completions
}

// openAIRoutes registers the routes of vLLM.
func (s *Server) openAIRoutes() {
	length := s.config.Profile.MaxModelLen
	model := map[string]any{
		"id": s.config.Profile.Model, "object": "model", "owned_by": "vllm", "max_model_len": length,
	}
	s.mux.HandleFunc("POST /v1/chat/completions", s.generate(openAI{s, true}))
	s.mux.HandleFunc("POST /v1/completions", s.generate(openAI{s, false}))
	s.mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]string{"version": "0.11.0"})
	})
	s.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"object": "list", "data": []any{model}})
	})
	s.mux.HandleFunc("POST /tokenize", s.tokenize(openAI{s, true}, func(tokens int) any {
		return map[string]int{"count": tokens, "max_model_len": length}
	}))
}

// openAIRequest holds the fields that the simulator obeys. vLLM ignores unknown ones as well.
type openAIRequest struct {
	Model               string
	Messages            []struct{ Content string }
	Prompt              string
	MaxTokens           int    `json:"max_tokens"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	IgnoreEOS           bool   `json:"ignore_eos"`
	CacheSalt           string `json:"cache_salt"`
	Stream              bool
	Tools               []json.RawMessage
	ResponseFormat      struct{ Type string } `json:"response_format"`
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

func (d openAI) parse(body []byte) (question, *refusal) {
	var r openAIRequest
	if json.Unmarshal(body, &r) != nil {
		return question{}, badRequest("Invalid JSON body.")
	}
	profile := d.server.config.Profile
	q := question{
		prompt:     r.prompt(),
		usage:      r.StreamOptions.IncludeUsage,
		continuous: r.StreamOptions.ContinuousUsageStats,
	}
	q.endless = r.IgnoreEOS || q.prompt.endless
	q.calls = d.chat && len(r.Tools) > 0
	q.json = d.chat && r.ResponseFormat.Type == "json_schema"
	if d.chat {
		q.reasoning = d.server.config.Reasoning
	}
	room := profile.MaxModelLen - q.prompt.tokens
	q.most = min(cmp.Or(r.MaxCompletionTokens, r.MaxTokens, room), room)
	switch {
	case r.Model != "" && r.Model != profile.Model:
		return q, &refusal{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", r.Model)}
	case !r.Stream:
		return q, badRequest("stream: the simulator only streams, set it to true.")
	case d.chat != (len(r.Messages) > 0):
		return q, badRequest("want messages in a chat, and a prompt in a completion.")
	case q.most < 1:
		return q, badRequest("This model's maximum context length is %d tokens. "+
			"However, your request has %d input tokens.",
			profile.MaxModelLen, q.prompt.tokens)
	}
	return q, nil
}

// prompt returns what the model would see.
func (r openAIRequest) prompt() prompt {
	if len(r.Messages) == 0 {
		return newPrompt("<begin>", r.Prompt, "", r.CacheSalt)
	}
	// A chat template of 13 tokens.
	const before, after = "<begin> <head> user </head> <nl> date today <nl>", "<end> <head> bot </head> <nl>"
	var texts []string
	for _, tool := range r.Tools {
		texts = append(texts, string(tool))
	}
	for _, m := range r.Messages {
		texts = append(texts, m.Content)
	}
	return newPrompt(before, strings.Join(texts, " "), after, r.CacheSalt)
}

// opening returns the role frame of a chat.
func (d openAI) opening(a *answer) string {
	if !d.chat {
		return ""
	}
	return d.choice(a, `"delta":{"role":"assistant","content":""}`, "null", 0)
}

func (d openAI) token(a *answer, k int) string {
	text, finish := marshal(a.texts[k]), "null"
	if a.isLast(k) {
		finish = marshal(a.finish)
	}
	switch {
	case !d.chat:
		text = `"text":` + text
	case k < a.reasoning:
		text = `"delta":{"reasoning":` + text + `}`
	case a.calls && a.isLast(k):
		text = `"delta":{}`
		finish = strings.Replace(finish, "stop", "tool_calls", 1)
	case a.calls && k == a.reasoning:
		text = fmt.Sprintf(`"delta":{"tool_calls":[{"index":0,"id":"call-%d","type":"function",`+
			`"function":{"name":"report","arguments":%s}}]}`, a.id, text)
	case a.calls:
		text = `"delta":{"tool_calls":[{"index":0,"function":{"arguments":` + text + `}}]}`
	default:
		text = `"delta":{"content":` + text + `}`
	}
	return d.choice(a, text, finish, k+1)
}

// closing returns the usage of the whole answer, if it was asked for, and the end.
func (d openAI) closing(a *answer) string {
	if !a.usage {
		return event("[DONE]")
	}
	details := fmt.Sprintf(`,"prompt_tokens_details":{"cached_tokens":%d}`, a.cached)
	if a.reasoning > 0 {
		details += fmt.Sprintf(`,"completion_tokens_details":{"reasoning_tokens":%d}`, a.reasoning)
	}
	return d.frame(a, "", usage(a, len(a.texts), details)) + event("[DONE]")
}

// choice returns a frame with a text. Sent is the number of tokens up to this one.
func (d openAI) choice(a *answer, text, finish string, sent int) string {
	choice := fmt.Sprintf(`{"index":0,%s,"logprobs":null,"finish_reason":%s}`, text, finish)
	if a.continuous {
		return d.frame(a, choice, usage(a, sent, ""))
	}
	return d.frame(a, choice, "")
}

// frame returns a frame with a choice, which may be empty, and a further field, too.
func (d openAI) frame(a *answer, choice, field string) string {
	id, object := "cmpl", "text_completion"
	if d.chat {
		id, object = "chatcmpl", "chat.completion.chunk"
	}
	return event(fmt.Sprintf(`{"id":"%s-%d","object":%q,"created":%d,"model":%q,"choices":[%s]%s}`,
		id, a.id, object, a.start.Unix(), d.server.config.Profile.Model, choice, field))
}

// usage returns the field of the token counts after that many tokens of the answer.
func usage(a *answer, sent int, details string) string {
	return fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d%s}`,
		a.prompt.tokens, a.prompt.tokens+sent, sent, details)
}

// openAIError returns the document of an error.
func openAIError(r refusal) string {
	kind := "BadRequestError"
	if r.status == http.StatusNotFound {
		kind = "NotFoundError"
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%q,"code":%d}}`, marshal(r.message), kind, r.status)
}
