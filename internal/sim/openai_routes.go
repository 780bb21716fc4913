package sim

import (
	"net/http"
	"slices"
)

// openAIRoutes are those of vLLM's server that the prober or its users may ask. Only paths under /v1/ want the key.
func (s *Server) openAIRoutes() {
	s.mux.HandleFunc("POST /v1/chat/completions", s.compute(chat{}))
	s.mux.HandleFunc("POST /v1/completions", s.compute(completions{}))
	s.healthy("GET /health")
	s.mux.HandleFunc("GET /v1/models", s.guarded(openAI{}.refuse, s.models))
	s.mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": "0.11.0"})
	})
	if !s.config.NoTokenize {
		s.mux.HandleFunc("POST /tokenize", s.tokenize)
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type card struct {
		ID          string  `json:"id"`
		Object      string  `json:"object"`
		Created     int64   `json:"created"`
		OwnedBy     string  `json:"owned_by"`
		Root        string  `json:"root"`
		Parent      *string `json:"parent"`
		MaxModelLen int     `json:"max_model_len"`
	}
	one := card{
		ID: s.config.Model, Object: "model", Created: s.created.Unix(), OwnedBy: "vllm", Root: s.config.Model,
		MaxModelLen: s.config.Profile.MaxModelLen,
	}
	writeJSON(w, http.StatusOK, struct {
		Object string `json:"object"`
		Data   []card `json:"data"`
	}{"list", []card{one}})
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	p, refused := tokenizePrompt(http.MaxBytesReader(w, r.Body, openAIBodyLimit))
	if refused != nil {
		openAI{}.refuse(*refused).write(w)
		return
	}
	ids := slices.AppendSeq([]uint32{}, p.tokens())
	writeJSON(w, http.StatusOK, struct {
		Count       int      `json:"count"`
		MaxModelLen int      `json:"max_model_len"`
		Tokens      []uint32 `json:"tokens"`
		TokenStrs   []string `json:"token_strs"`
	}{len(ids), s.config.Profile.MaxModelLen, ids, nil})
}
