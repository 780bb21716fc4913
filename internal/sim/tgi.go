package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// tgi is Hugging Face TGI's own API: https://github.com/huggingface/text-generation-inference/tree/main/router
type tgi struct{ server *Server }

type tgiRequest struct {
	Inputs     string
	Parameters struct {
		MaxNewTokens *int `json:"max_new_tokens"`
		Details      bool
	}
}

func (d tgi) parse(body []byte) (question, *refusal) {
	var r tgiRequest
	if json.Unmarshal(body, &r) != nil {
		return question{}, bad("Failed to parse the request body as JSON")
	}
	p := r.prompt()
	const tgiDefault = 100
	q := question{prompt: digestOf(p, ""), endless: p.asks("do not stop"), usage: r.Parameters.Details, max: tgiDefault}
	if r.Parameters.MaxNewTokens != nil {
		q.max = *r.Parameters.MaxNewTokens
	}
	most := d.server.config.Profile.MaxModelLen
	switch {
	case q.max < 1:
		return q, bad("Input validation error: `max_new_tokens` must be strictly positive")
	case q.prompt.tokens+q.max > most:
		return q, bad("Input validation error: `inputs` tokens + `max_new_tokens` must be <= %d. "+
			"Given: %d `inputs` tokens and %d `max_new_tokens`", most, q.prompt.tokens, q.max)
	}
	return q, nil
}

func (r tgiRequest) prompt() prompt {
	return prompt{head: []uint32{beginID}, texts: []string{r.Inputs}}
}

func (d tgi) encoder(a *answer) encoder { return tgiFrames{a} }

// tgiFrames encodes one answer: each frame is one token.
type tgiFrames struct{ *answer }

func (f tgiFrames) opening() string { return "" }
func (f tgiFrames) closing() string { return "" }
func (f tgiFrames) failure() string { return event(tgiError(engineFailed)) }

func (f tgiFrames) tokens(from, to int) string {
	var b strings.Builder
	for k := from; k < to; k++ {
		b.WriteString(f.token(k))
	}
	return b.String()
}

func (f tgiFrames) token(k int) string {
	id, text := idOf(f.word(k)), quoted(f.textOf(k, k+1))
	if f.ends(k) {
		id, text = endID, `"<|eot_id|>"`
	}
	generated, details := "null", "null"
	if k == f.want-1 {
		generated = quoted(f.textOf(0, f.want))
		details = f.details()
	}
	token := fmt.Sprintf(`{"id":%d,"text":%s,"logprob":-0.5,"special":%t}`, id, text, f.ends(k))
	return event(fmt.Sprintf(`{"index":%d,"token":%s,"generated_text":%s,"details":%s}`, k+1, token, generated, details))
}

// details are those of the last frame, if they were asked for.
func (f tgiFrames) details() string {
	if !f.usage {
		return "null"
	}
	reason := f.finish
	if reason == "stop" {
		reason = "eos_token"
	}
	return fmt.Sprintf(`{"finish_reason":%q,"generated_tokens":%d,"seed":null,"input_length":%d}`,
		reason, f.want, f.prompt.tokens)
}

// tgiError is the document of an error.
func tgiError(r refusal) string {
	kind := "validation"
	switch r.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		kind = "overloaded"
	case http.StatusInternalServerError:
		kind = "generation"
	}
	return fmt.Sprintf(`{"error":%s,"error_type":%q}`, quoted(r.message), kind)
}

// tgiRoutes registers the routes of TGI.
func (s *Server) tgiRoutes() {
	s.mux.HandleFunc("POST /generate_stream", s.generate(tgi{s}))
	s.mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) {
		most := s.config.Profile.MaxModelLen
		writeJSON(w, http.StatusOK, map[string]any{
			"model_id": s.config.Profile.Model, "max_input_tokens": most - 1, "max_total_tokens": most, "version": "3.3.6",
		})
	})
	s.mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
		var request tgiRequest
		if s.readJSON(w, r, &request) {
			pieces := []map[string]uint32{}
			for _, id := range request.prompt().tokens() {
				pieces = append(pieces, map[string]uint32{"id": id})
			}
			writeJSON(w, http.StatusOK, pieces)
		}
	})
}
