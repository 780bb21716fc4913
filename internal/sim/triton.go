package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// defaultTritonTokens is max_tokens of vLLM's SamplingParams when the request does not say.
const defaultTritonTokens = 16

// triton is Triton's generate extension over its vLLM backend: POST /v2/models/{m}/generate_stream and …/generate.
type triton struct {
	model   string // as the path names it
	streams bool
}

// tritonTensors are the inputs of the backend's model that the simulator knows, besides the text. Triton takes them from
// the top of a request and from its parameters alike (src/http_server.cc, ConvertGenerateRequest).
type tritonTensors struct {
	Stream   bool  `json:"stream"`
	Exclude  *bool `json:"exclude_input_in_output"`
	CountIn  bool  `json:"return_num_input_tokens"`
	CountOut bool  `json:"return_num_output_tokens"`
}

// tritonRequest holds the fields that the simulator knows. Parameters that are no tensors go to vLLM.
type tritonRequest struct {
	Text *string `json:"text_input"`
	tritonTensors
	Parameters struct {
		tritonTensors
		MaxTokens *int `json:"max_tokens"`
		MinTokens int  `json:"min_tokens"`
		IgnoreEOS bool `json:"ignore_eos"`
	} `json:"parameters"`
}

// tensors are those of both places.
func (r tritonRequest) tensors() tritonTensors {
	t, more := r.tritonTensors, r.Parameters.tritonTensors
	t.Stream, t.CountIn, t.CountOut = t.Stream || more.Stream, t.CountIn || more.CountIn, t.CountOut || more.CountOut
	if t.Exclude == nil {
		t.Exclude = more.Exclude
	}
	return t
}

func (triton) limit() int64 { return openAIBodyLimit }

func (d triton) read(body []byte, c Config) (ask, *refusal) {
	if !c.names(d.model) {
		return ask{}, bad("", "Request for unknown model: '%s' is not found", d.model)
	}
	var r tritonRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return ask{}, bad("", "failed to parse the request JSON buffer: %v", err)
	}
	r.tritonTensors = r.tensors()
	if r.Text == nil {
		return ask{}, bad("", "expected 1 inputs but got 0 inputs for model '%s'. Got input(s) [], but missing required input(s) ['text_input'].", d.model)
	}
	p := plainPrompt(*r.Text)
	q := ask{
		prompt: p.digest(""), max: defaultTritonTokens, min: r.Parameters.MinTokens,
		endless: r.Parameters.IgnoreEOS || p.endless(), stream: d.streams, more: r,
	}
	if r.Parameters.MaxTokens != nil {
		q.max = *r.Parameters.MaxTokens
	}
	room := c.Profile.MaxModelLen - q.prompt.tokens
	switch {
	case r.Stream && r.Exclude != nil && !*r.Exclude:
		return q, bad("", "Error generating stream: When streaming, `exclude_input_in_output` = False is not allowed.")
	case r.Stream && !d.streams:
		return q, bad("", "generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses")
	case q.max < 1:
		return q, bad("", "Error generating stream: max_tokens must be at least 1, got %d.", q.max)
	case q.min < 0 || q.min > q.max:
		return q, bad("", "Error generating stream: min_tokens must be less than or equal to max_tokens=%d, got %d.", q.max, q.min)
	case room < 1:
		return q, bad("", "Error generating stream: The decoder prompt (length %d) is longer than the maximum model length of %d.", q.prompt.tokens, c.Profile.MaxModelLen)
	}
	q.max = min(q.max, room)
	return q, nil
}

func (triton) refuse(r refusal) reply {
	return reply{status: r.status, contentType: "application/json", body: plainError(r.message)}
}

// plainError is an error as Triton and Ollama spell it.
func plainError(message string) []byte { return mustJSON(map[string]string{"error": message}) }

// speak has no end marker and no finish reason. Without "stream":true the backend gives a single response, which
// contains the prompt unless it is excluded.
func (d triton) speak(a *answer) script {
	r, _ := a.more.(tritonRequest)
	output := func(from, to int) any { return d.output(a, r, from, to) }
	return script{
		late:    true,
		frame:   func(from, to int) []byte { return fmt.Appendf(nil, "data: %s\n\n", mustJSON(output(from, to))) },
		single:  !r.Stream,
		failure: fmt.Appendf(nil, "data: %s\n\n", plainError("Error generating stream: simulated fault: the engine failed.")),
		comment: []byte(": ping\n\n"),
		whole:   func() any { return output(0, a.want) },
	}
}

// output is the model's response of the tokens [from, to), keys sorted as Triton writes them.
func (d triton) output(a *answer, r tritonRequest, from, to int) any {
	out := struct {
		Model   string `json:"model_name"`
		Version string `json:"model_version"`
		In      *int   `json:"num_input_tokens,omitempty"`
		Out     *int   `json:"num_output_tokens,omitempty"`
		Text    string `json:"text_output"`
	}{Model: d.model, Version: "1", Text: a.textOf(from, to)}
	if !r.Stream && (r.Exclude == nil || !*r.Exclude) {
		out.Text = *r.Text + out.Text
	}
	if r.CountIn {
		out.In = &a.prompt.tokens
	}
	if n := to - from; r.CountOut {
		out.Out = &n
	}
	return out
}

// tritonRoutes are those of Triton's HTTP endpoint. There is none that counts tokens.
func (s *Server) tritonRoutes() {
	generate := func(streams bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s.compute(triton{model: r.PathValue("m"), streams: streams})(w, r)
		}
	}
	s.mux.HandleFunc("POST /v2/models/{m}/generate_stream", generate(true))
	s.mux.HandleFunc("POST /v2/models/{m}/versions/1/generate_stream", generate(true))
	s.mux.HandleFunc("POST /v2/models/{m}/generate", generate(false))
	s.healthy("GET /v2/health/ready")
	s.healthy("GET /v2/health/live")
	s.mux.HandleFunc("GET /v2/models/{m}/ready", func(w http.ResponseWriter, r *http.Request) {
		if !s.config.names(r.PathValue("m")) {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	s.mux.HandleFunc("GET /v2", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, struct {
			Name       string   `json:"name"`
			Version    string   `json:"version"`
			Extensions []string `json:"extensions"`
		}{"triton", "2.59.0", []string{"classification", "model_repository", "generate"}})
	})
	s.mux.HandleFunc("POST /v2/repository/index", func(w http.ResponseWriter, _ *http.Request) {
		type card struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			State   string `json:"state"`
		}
		writeJSON(w, http.StatusOK, []card{{s.config.Model, "1", "READY"}})
	})
}
