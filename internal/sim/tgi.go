package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// tgi is Hugging Face TGI's own API: https://github.com/huggingface/text-generation-inference/tree/main/router
type tgi struct{ server *Server }

// tgiRoutes registers the routes of TGI.
func (s *Server) tgiRoutes() {
	most := s.config.Profile.MaxModelLen
	s.mux.HandleFunc("POST /generate_stream", s.generate(tgi{s}))
	s.mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{
			"model_id": s.config.Profile.Model, "version": "3.3.6", "max_input_tokens": most - 1, "max_total_tokens": most,
		})
	})
	s.mux.HandleFunc("POST /tokenize", s.tokenize(tgi{s}, func(tokens int) any {
		return make([]struct{}, tokens) // one element for each token
	}))
}

type tgiRequest struct {
	Inputs     string
	Parameters struct {
		MaxNewTokens int `json:"max_new_tokens"`
		Details      bool
	}
}

func (d tgi) parse(body []byte) (question, *refusal) {
	r := tgiRequest{}
	r.Parameters.MaxNewTokens = 100 // TGI's default
	if json.Unmarshal(body, &r) != nil {
		return question{}, badRequest("Failed to parse the request body as JSON")
	}
	p := newPrompt("<begin>", r.Inputs, "", "")
	q := question{prompt: p, endless: p.endless, usage: r.Parameters.Details, most: r.Parameters.MaxNewTokens}
	limit := d.server.config.Profile.MaxModelLen
	if q.most < 1 || p.tokens+q.most > limit {
		return q, badRequest("Input validation error: `inputs` tokens + `max_new_tokens` must be <= %d. "+
			"Given: %d `inputs` tokens and %d `max_new_tokens`", limit, p.tokens, q.most)
	}
	return q, nil
}

func (d tgi) opening(*answer) string { return "" }

func (d tgi) closing(*answer) string { return "" }

func (d tgi) token(a *answer, k int) string {
	text, whole, details := a.texts[k], "null", "null"
	if a.isLast(k) {
		whole, details = marshal(strings.Join(a.texts, "")), d.details(a)
	}
	end := text == ""
	if end {
		text = "<|eot_id|>"
	}
	return event(fmt.Sprintf(`{"index":%[1]d,"token":{"id":%[1]d,"text":%[2]s,"logprob":-0.5,"special":%[3]t},`+
		`"generated_text":%[4]s,"details":%[5]s}`, k+1, marshal(text), end, whole, details))
}

// details returns those of the last frame, if they were asked for.
func (d tgi) details(a *answer) string {
	if !a.usage {
		return "null"
	}
	reason := a.finish
	if reason == "stop" {
		reason = "eos_token"
	}
	return fmt.Sprintf(`{"finish_reason":%q,"generated_tokens":%d,"seed":null,"input_length":%d}`,
		reason, len(a.texts), a.prompt.tokens)
}

// tgiError returns the document of an error.
func tgiError(r refusal) string {
	kind := "validation"
	if r.status == http.StatusTooManyRequests {
		kind = "overloaded"
	}
	return fmt.Sprintf(`{"error":%s,"error_type":%q}`, marshal(r.message), kind)
}
