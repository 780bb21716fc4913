package sim

import (
	"encoding/json"
	"net/http"
	"strings"
)

// llamaRoutes are those of llama-server. The health check and the list of models are open, the others want the key.
func (s *Server) llamaRoutes() {
	route := func(pattern string, h http.HandlerFunc) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", "llama.cpp")
			h(w, r)
		})
	}
	route("POST /completion", s.compute(llama{}))
	route("POST /completions", s.compute(llama{}))
	route("GET /health", constant(textReply(http.StatusOK, "application/json; charset=utf-8", `{"status":"ok"}`)))
	route("GET /models", s.llamaModels)
	route("GET /v1/models", s.llamaModels)
	route("GET /props", s.guarded(llama{}.refuse, s.llamaProps))
	route("POST /apply-template", s.guarded(llama{}.refuse, llamaTemplate))
	if !s.config.NoTokenize {
		route("POST /tokenize", s.guarded(llama{}.refuse, llamaTokenize))
	}
}

func (s *Server) llamaModels(w http.ResponseWriter, _ *http.Request) {
	type meta struct {
		Context int `json:"n_ctx_train"`
	}
	type card struct {
		modelCard
		Meta meta `json:"meta"`
	}
	writeJSON(w, http.StatusOK, modelList[card]{"list", []card{{s.card("llamacpp"), meta{s.config.Profile.MaxModelLen}}}})
}

func (s *Server) llamaProps(w http.ResponseWriter, _ *http.Request) {
	type settings struct {
		Context int `json:"n_ctx"`
	}
	writeJSON(w, http.StatusOK, struct {
		Settings settings `json:"default_generation_settings"`
		Slots    int      `json:"total_slots"`
		Model    string   `json:"model_path"`
		Build    string   `json:"build_info"`
	}{settings{s.config.Profile.MaxModelLen}, 1, s.config.Model, "b6510-sim"})
}

// llamaTokenize is /tokenize of the native API.
func llamaTokenize(w http.ResponseWriter, r *http.Request) {
	var q llamaCount
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, openAIBodyLimit)).Decode(&q); err != nil {
		llama{}.refuse(*bad("", "Invalid JSON body: %v", err)).write(w)
		return
	}
	q.tell(w)
}

// llamaTemplate puts messages into a template in words, so that the prompt has the same length wherever it is counted.
func llamaTemplate(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []message `json:"messages"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, openAIBodyLimit)).Decode(&q); err != nil || len(q.Messages) == 0 {
		llama{}.refuse(*bad("", "'messages' is required")).write(w)
		return
	}
	var b strings.Builder
	for _, m := range q.Messages {
		b.WriteString("<|" + m.Role + "|>\n" + string(m.Content) + "\n")
	}
	b.WriteString("<|assistant|>\n")
	writeJSON(w, http.StatusOK, map[string]string{"prompt": b.String()})
}
