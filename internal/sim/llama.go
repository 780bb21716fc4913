package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// llama is llama-server's native API: POST /completion, one token a frame.
type llama struct{}

// llamaRequest holds the fields that the simulator knows; others are ignored. return_tokens has no effect: a stream
// always has the tokens.
type llamaRequest struct {
	Prompt    json.RawMessage `json:"prompt"`
	Predict   *int            `json:"n_predict"`
	IgnoreEOS bool            `json:"ignore_eos"`
	Cache     *bool           `json:"cache_prompt"`
	Stream    bool            `json:"stream"`
	Tokens    bool            `json:"return_tokens"`
	Timings   bool            `json:"timings_per_token"`
	Progress  bool            `json:"return_progress"`
}

func (llama) limit() int64 { return openAIBodyLimit }

func (llama) read(body []byte, c Config) (ask, *refusal) {
	var r llamaRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return ask{}, bad("", "Invalid JSON body: %v", err)
	}
	p, ok := llamaPrompt(r.Prompt)
	if !ok {
		return ask{}, bad("", `"prompt" must be a string, an list of tokens, a list of mixed strings & tokens, or a list of prompts`)
	}
	context := c.Profile.MaxModelLen
	q := ask{
		prompt: p.digest(""), endless: r.IgnoreEOS || p.endless(), stream: r.Stream,
		uncached: r.Cache != nil && !*r.Cache, more: r,
	}
	if q.prompt.tokens >= context {
		refused := bad("", "the request exceeds the available context size. try increasing the context size or enable context shift")
		refused.kind = "exceed_context_size_error"
		refused.more = map[string]int{"n_prompt_tokens": q.prompt.tokens, "n_ctx": context}
		return q, refused
	}
	q.max = context - q.prompt.tokens // n_predict −1: as much as fits
	if r.Predict != nil && *r.Predict >= 0 {
		q.max = min(q.max, max(1, *r.Predict)) // 0 only fills the cache, which the simulator does not do
	}
	return q, nil
}

// llamaPrompt takes a text, or a list of ids and texts. A text at the beginning stands behind a beginning of sequence.
func llamaPrompt(raw json.RawMessage) (prompt, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return plainPrompt(text), text != ""
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return prompt{}, false
	}
	var p prompt
	for i, piece := range list {
		var id uint32
		if json.Unmarshal(piece, &id) == nil {
			p.ids = append(p.ids, id)
			continue
		}
		var text string
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

func (llama) refuse(r refusal) reply {
	kind := r.kind
	if kind == "" {
		kind = llamaErrorType(r.status)
	}
	body := map[string]any{"code": r.status, "message": r.message, "type": kind}
	for key, value := range r.more {
		body[key] = value
	}
	return reply{status: r.status, contentType: "application/json; charset=utf-8", body: mustJSON(map[string]any{"error": body})}
}

func llamaErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusServiceUnavailable:
		return "unavailable_error"
	}
	if status < http.StatusInternalServerError {
		return "invalid_request_error"
	}
	return "server_error"
}

// speak holds the headers back until the first result, which is the prompt's progress if that was asked for.
func (llama) speak(a *answer) script {
	r, _ := a.more.(llamaRequest)
	failed := llama{}.refuse(refusal{status: http.StatusInternalServerError, message: "Simulated fault: the engine failed."})
	s := script{
		late:    true,
		most:    1,
		failure: fmt.Appendf(nil, "data: %s\n\n", failed.body),
		comment: []byte(":\n\n"),
		whole:   func() any { return a.llamaFinal(r, a.textOf(0, a.want)) },
	}
	if r.Progress {
		s.prelude = a.llamaProgress(a.cached, 0)
	}
	s.frame = func(from, to int) []byte {
		var out []byte
		if from == 0 && r.Progress {
			out = a.llamaProgress(a.prompt.tokens, a.firstAt.Sub(a.origin))
		}
		out = fmt.Appendf(out, "data: %s\n\n", mustJSON(a.llamaToken(r, from)))
		if to == a.want {
			out = fmt.Appendf(out, "data: %s\n\n", mustJSON(a.llamaFinal(r, "")))
		}
		return out
	}
	return s
}

// llamaPart is a frame that is not the final one.
type llamaPart struct {
	Index     int           `json:"index"`
	Content   string        `json:"content"`
	Tokens    []uint32      `json:"tokens"`
	Stop      bool          `json:"stop"`
	Slot      int           `json:"id_slot"`
	Predicted int           `json:"tokens_predicted"`
	Evaluated int           `json:"tokens_evaluated"`
	Timings   *llamaTimings `json:"timings,omitempty"`
	Progress  *llamaPrefill `json:"prompt_progress,omitempty"`
}

// llamaPrefill is how far the prompt is, in tokens and milliseconds.
type llamaPrefill struct {
	Total     int   `json:"total"`
	Cache     int   `json:"cache"`
	Processed int   `json:"processed"`
	Millis    int64 `json:"time_ms"`
}

// llamaProgress is the frame that says that so many tokens of the prompt took so long.
func (a *answer) llamaProgress(processed int, took time.Duration) []byte {
	part := llamaPart{
		Tokens: []uint32{}, Evaluated: a.prompt.tokens,
		Progress: &llamaPrefill{a.prompt.tokens, a.cached, processed, took.Milliseconds()},
	}
	return fmt.Appendf(nil, "data: %s\n\n", mustJSON(part))
}

// llamaToken is the frame of token k.
func (a *answer) llamaToken(r llamaRequest, k int) llamaPart {
	part := llamaPart{Content: a.text(k), Tokens: a.tokenIDs(k, k+1), Predicted: k + 1, Evaluated: a.prompt.tokens}
	if r.Timings {
		t := a.llamaTimings(k + 1)
		part.Timings = &t
	}
	return part
}

// llamaTimings counts tokens and milliseconds.
type llamaTimings struct {
	Cached      int     `json:"cache_n"`
	Prompt      int     `json:"prompt_n"`
	PromptMS    float64 `json:"prompt_ms"`
	Predicted   int     `json:"predicted_n"`
	PredictedMS float64 `json:"predicted_ms"`
}

// llamaTimings are the timings after so many tokens; the latest was just due.
func (a *answer) llamaTimings(predicted int) llamaTimings {
	millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return llamaTimings{
		a.cached, a.prompt.tokens - a.cached, millis(a.firstAt.Sub(a.origin)),
		predicted, millis(a.lastAt.Sub(a.firstAt)),
	}
}

// llamaFinal is the last frame, or with the whole text the answer without a stream.
func (a *answer) llamaFinal(r llamaRequest, text string) any {
	stop := "limit"
	if a.finish == "stop" {
		stop = "eos"
	}
	tokens := []uint32{}
	if r.Tokens && !r.Stream {
		tokens = a.tokenIDs(0, a.want)
	}
	return struct {
		Index     int          `json:"index"`
		Content   string       `json:"content"`
		Tokens    []uint32     `json:"tokens"`
		Slot      int          `json:"id_slot"`
		Stop      bool         `json:"stop"`
		Model     string       `json:"model"`
		Predicted int          `json:"tokens_predicted"`
		Evaluated int          `json:"tokens_evaluated"`
		Truncated bool         `json:"truncated"`
		StopType  string       `json:"stop_type"`
		StopWord  string       `json:"stopping_word"`
		Cached    int          `json:"tokens_cached"`
		Timings   llamaTimings `json:"timings"`
	}{
		0, text, tokens, 0, true, a.model, a.want, a.prompt.tokens, a.finish == "length" && a.prompt.tokens+a.want == a.server.config.Profile.MaxModelLen,
		stop, "", a.prompt.tokens + a.want - 1, a.llamaTimings(a.want),
	}
}
