package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// defaultSGLangTokens is SGLang's max_new_tokens when the request does not say.
const defaultSGLangTokens = 128

// sglang is SGLang's native API: POST /generate, whose frames are cumulative.
type sglang struct{}

// sglangRequest holds the fields that the simulator knows; others are ignored.
type sglangRequest struct {
	Text      *string  `json:"text"`
	InputIDs  []uint32 `json:"input_ids"`
	Stream    bool     `json:"stream"`
	ExtraKey  string   `json:"extra_key"`
	CacheSalt string   `json:"cache_salt"`
	Sampling  struct {
		MaxNewTokens *int `json:"max_new_tokens"`
		MinNewTokens int  `json:"min_new_tokens"`
		IgnoreEOS    bool `json:"ignore_eos"`
	} `json:"sampling_params"`
}

func (sglang) limit() int64 { return openAIBodyLimit }

func (sglang) read(body []byte, c Config) (ask, *refusal) {
	var r sglangRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return ask{}, bad("", "Invalid JSON body: %v", err)
	}
	if (r.Text == nil) == (len(r.InputIDs) == 0) {
		return ask{}, bad("", "Either text, input_ids or input_embeds should be provided.")
	}
	p := prompt{ids: r.InputIDs}
	if r.Text != nil {
		p = plainPrompt(*r.Text)
	}
	s := r.Sampling
	q := ask{
		prompt: p.digest(r.CacheSalt + r.ExtraKey), max: defaultSGLangTokens, min: s.MinNewTokens,
		endless: s.IgnoreEOS || p.endless(), stream: r.Stream,
	}
	if s.MaxNewTokens != nil {
		q.max = *s.MaxNewTokens
	}
	return q, sglangJudge(q, c.Profile.MaxModelLen)
}

// sglangJudge refuses what SGLang's sampling parameters and context length rule out.
func sglangJudge(q ask, context int) *refusal {
	switch n := q.prompt.tokens; {
	case q.max < 1:
		return bad("", "max_new_tokens must be at least 1, got %d.", q.max)
	case q.min < 0 || q.min > q.max:
		return bad("", "min_new_tokens must be in [0, max_new_tokens(%d)], got %d.", q.max, q.min)
	case n >= context:
		return bad("", "The input (%d tokens) is longer than the model's context length (%d tokens).", n, context)
	case n+q.max > context:
		return bad("", "Requested token count exceeds the model's maximum context length of %d tokens. You requested a total of %d tokens: %d tokens from the input messages and %d tokens for the completion.",
			context, n+q.max, n, q.max)
	}
	return nil
}

func (sglang) refuse(r refusal) reply {
	out := reply{status: r.status, contentType: "application/json", body: sglangError(r.message)}
	if r.status == http.StatusUnauthorized {
		out.body = []byte(`{"error":"Unauthorized"}`)
	}
	return out
}

func sglangError(message string) []byte {
	return mustJSON(map[string]map[string]string{"error": {"message": message}})
}

func (sglang) speak(a *answer) script {
	failure := fmt.Appendf(nil, "data: %s\n\n", sglangError("Simulated fault: the engine failed."))
	return script{
		late:    true,
		frame:   func(_, to int) []byte { return fmt.Appendf(nil, "data: %s\n\n", mustJSON(a.sglangOutput(to))) },
		closing: []byte(doneFrame),
		failure: append(failure, doneFrame...),
		comment: []byte(": ping\n\n"),
		whole:   func() any { return a.sglangOutput(a.want) },
	}
}

// sglangMeta is meta_info. Its latency, in seconds, is in the last frame only.
type sglangMeta struct {
	ID         string        `json:"id"`
	Finish     *sglangFinish `json:"finish_reason"`
	Prompt     int           `json:"prompt_tokens"`
	Version    string        `json:"weight_version"`
	Completion int           `json:"completion_tokens"`
	Cached     int           `json:"cached_tokens"`
	Latency    *float64      `json:"e2e_latency,omitempty"`
}

type sglangFinish struct {
	Type    string `json:"type"`
	Length  int    `json:"length,omitempty"`
	Matched int    `json:"matched,omitempty"`
}

// sglangOutput is the answer up to token to.
func (a *answer) sglangOutput(to int) any {
	meta := sglangMeta{
		ID: a.requestID(), Prompt: a.prompt.tokens, Version: "default", Completion: to, Cached: a.cached,
	}
	if to == a.want {
		latency := a.lastAt.Sub(a.origin).Seconds()
		meta.Latency = &latency
		meta.Finish = &sglangFinish{Type: a.finish, Length: a.want}
		if a.finish == "stop" {
			meta.Finish = &sglangFinish{Type: a.finish, Matched: endID}
		}
	}
	return struct {
		Text string     `json:"text"`
		IDs  []uint32   `json:"output_ids"`
		Meta sglangMeta `json:"meta_info"`
	}{a.textOf(0, to), a.tokenIDs(0, to), meta}
}

// sglangRoutes are those of SGLang's server beside its OpenAI ones. All but the health checks want the key.
func (s *Server) sglangRoutes() {
	s.mux.HandleFunc("POST /generate", s.compute(sglang{}))
	s.healthy("GET /health")
	s.healthy("GET /health_generate")
	s.mux.HandleFunc("GET /v1/models", s.guarded(sglang{}.refuse, s.sglangModels))
	s.mux.HandleFunc("GET /get_model_info", s.guarded(sglang{}.refuse, s.sglangInfo))
	if !s.config.NoTokenize {
		s.mux.HandleFunc("POST /tokenize", s.guarded(sglang{}.refuse, s.sglangTokenize))
		s.mux.HandleFunc("POST /v1/tokenize", s.guarded(sglang{}.refuse, s.sglangTokenize))
	}
}

func (s *Server) sglangModels(w http.ResponseWriter, _ *http.Request) {
	type card struct {
		modelCard
		Root        string  `json:"root"`
		Parent      *string `json:"parent"`
		MaxModelLen int     `json:"max_model_len"`
	}
	one := card{modelCard: s.card("sglang"), Root: s.config.Model, MaxModelLen: s.config.Profile.MaxModelLen}
	writeJSON(w, http.StatusOK, modelList[card]{"list", []card{one}})
}

func (s *Server) sglangInfo(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Model      string `json:"model_path"`
		Tokenizer  string `json:"tokenizer_path"`
		Generation bool   `json:"is_generation"`
		Version    string `json:"weight_version"`
	}{s.config.Model, s.config.Model, true, "default"})
}

func (s *Server) sglangTokenize(w http.ResponseWriter, r *http.Request) {
	p, refused := tokenizePrompt(http.MaxBytesReader(w, r.Body, openAIBodyLimit))
	if refused != nil {
		sglang{}.refuse(*refused).write(w)
		return
	}
	s.tellSGLang(w, p)
}
