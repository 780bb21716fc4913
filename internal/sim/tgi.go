package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// defaultNewTokens is TGI's max_new_tokens when the request does not say.
const defaultNewTokens = 100

// tgi is TGI's own API: POST /generate_stream and POST /generate.
type tgi struct{ streams bool }

func (tgi) limit() int64 { return tgiBodyLimit }

// tgiRequest holds the fields that the simulator knows; others are ignored.
type tgiRequest struct {
	Inputs     string `json:"inputs"`
	Parameters struct {
		MaxNewTokens *int `json:"max_new_tokens"`
		Details      bool `json:"details"`
		InputDetails bool `json:"decoder_input_details"`
		Truncate     *int `json:"truncate"`
	} `json:"parameters"`
}

func (d tgi) read(body []byte, c Config) (ask, *refusal) {
	var r tgiRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return ask{}, &refusal{status: http.StatusUnprocessableEntity, message: fmt.Sprintf("Failed to deserialize the JSON body into the target type: %v", err)}
	}
	p := plainPrompt(r.Inputs)
	q := ask{prompt: p.digest(""), max: defaultNewTokens, endless: p.endless(), stream: d.streams, details: r.Parameters.Details}
	if r.Parameters.MaxNewTokens != nil {
		q.max = *r.Parameters.MaxNewTokens
	}
	total := c.Profile.MaxModelLen
	switch {
	case r.Inputs == "":
		return q, invalid("`inputs` cannot be empty")
	case q.max < 1:
		return q, invalid("`max_new_tokens` must be strictly positive")
	case r.Parameters.InputDetails && d.streams:
		return q, invalid("`decoder_input_details` == true is not supported when streaming tokens")
	case q.prompt.tokens > total-1:
		return q, invalid("`inputs` must have less than %d tokens. Given: %d", total-1, q.prompt.tokens)
	case q.prompt.tokens+q.max > total:
		return q, invalid("`inputs` tokens + `max_new_tokens` must be <= %d. Given: %d `inputs` tokens and %d `max_new_tokens`", total, q.prompt.tokens, q.max)
	}
	return q, nil
}

// invalid is a validation error: 422, or a frame inside the stream.
func invalid(format string, args ...any) *refusal {
	return &refusal{
		status: http.StatusUnprocessableEntity, kind: "validation", inside: true,
		message: "Input validation error: " + fmt.Sprintf(format, args...),
	}
}

// refuse spells {"error","error_type"}: with its status, or as the only frame of a stream that was begun before.
func (d tgi) refuse(r refusal) reply {
	kind := r.kind
	if kind == "" {
		kind = tgiErrorType(r.status)
	}
	body := tgiError(r.message, kind)
	if r.inside && d.streams {
		return reply{status: http.StatusOK, contentType: "text/event-stream", body: fmt.Appendf(nil, "data:%s\n\n", body)}
	}
	return reply{status: r.status, contentType: "application/json", body: body}
}

func tgiError(message, kind string) []byte {
	return mustJSON(struct {
		Error string `json:"error"`
		Type  string `json:"error_type"`
	}{message, kind})
}

func tgiErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "authentication_error"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, statusOverloaded:
		return "overloaded"
	case http.StatusFailedDependency:
		return "generation"
	}
	if status < http.StatusInternalServerError {
		return "validation"
	}
	return "incomplete_generation"
}

// tgiToken is a token of the answer or of the prompt.
type tgiToken struct {
	ID      uint32  `json:"id"`
	Text    string  `json:"text"`
	Logprob float64 `json:"logprob"`
	Special bool    `json:"special"`
}

func (tgi) speak(a *answer) script {
	failure := tgiError("Request failed during generation: simulated fault", "generation")
	return script{
		header:  map[string]string{"X-Accel-Buffering": "no", "X-Compute-Type": "1-simulated"},
		frame:   func(from, _ int) []byte { return tgiFrame(a, from) },
		most:    1,
		failure: fmt.Appendf(nil, "data:%s\n\n", failure),
		comment: []byte(":\n\n"),
		whole:   func() any { return tgiDocument(a) },
	}
}

func (a *answer) tgiToken(k int) tgiToken {
	if a.ends(k) {
		return tgiToken{ID: endID, Text: endText, Logprob: -0.5, Special: true}
	}
	return tgiToken{ID: a.tokenID(k), Text: a.text(k), Logprob: -0.5}
}

// tgiFrame is the frame of token k; the last one also holds the whole text.
func tgiFrame(a *answer, k int) []byte {
	f := struct {
		Index   int         `json:"index"`
		Token   tgiToken    `json:"token"`
		Text    *string     `json:"generated_text"`
		Details *tgiDetails `json:"details"`
	}{Index: k + 1, Token: a.tgiToken(k)}
	if k == a.want-1 {
		text := a.textOf(0, a.want)
		f.Text = &text
		if a.details {
			f.Details = a.tgiDetails()
		}
	}
	return fmt.Appendf(nil, "data:%s\n\n", mustJSON(f))
}

// tgiDetails is what TGI says about an answer.
type tgiDetails struct {
	Finish    string  `json:"finish_reason"`
	Generated int     `json:"generated_tokens"`
	Seed      *uint64 `json:"seed"`
	Input     int     `json:"input_length"`
}

func (a *answer) tgiDetails() *tgiDetails {
	finish := a.finish
	if finish == "stop" {
		finish = "eos_token"
	}
	return &tgiDetails{Finish: finish, Generated: a.want, Input: a.prompt.tokens}
}

// tgiDocument is the answer without a stream.
func tgiDocument(a *answer) any {
	d := struct {
		Text    string      `json:"generated_text"`
		Details *tgiDetails `json:"details,omitempty"`
	}{Text: a.textOf(0, a.want)}
	if a.details {
		d.Details = a.tgiDetails()
	}
	return d
}

// tgiRoutes are those of TGI's router. Compute routes, /tokenize among them, want the key.
func (s *Server) tgiRoutes() {
	s.mux.HandleFunc("POST /generate_stream", s.compute(tgi{streams: true}))
	s.mux.HandleFunc("POST /generate", s.compute(tgi{}))
	s.mux.HandleFunc("GET /info", s.tgiInfo)
	s.healthy("GET /health")
	if !s.config.NoTokenize {
		s.mux.HandleFunc("POST /tokenize", s.guarded(tgi{}.refuse, s.tgiTokenize))
	}
}

func (s *Server) tgiInfo(w http.ResponseWriter, _ *http.Request) {
	concurrent := cmp.Or(s.config.Profile.MaxRequests, 128)
	writeJSON(w, http.StatusOK, struct {
		ModelID       string  `json:"model_id"`
		ModelSHA      *string `json:"model_sha"`
		Pipeline      string  `json:"model_pipeline_tag"`
		MaxConcurrent int     `json:"max_concurrent_requests"`
		MaxBestOf     int     `json:"max_best_of"`
		MaxStop       int     `json:"max_stop_sequences"`
		MaxInput      int     `json:"max_input_tokens"`
		MaxTotal      int     `json:"max_total_tokens"`
		Workers       int     `json:"validation_workers"`
		MaxBatch      int     `json:"max_client_batch_size"`
		Router        string  `json:"router"`
		Version       string  `json:"version"`
		SHA           string  `json:"sha"`
		DockerLabel   string  `json:"docker_label"`
	}{
		s.config.Model, nil, "text-generation", concurrent, 2, 4, s.config.Profile.MaxModelLen - 1, s.config.Profile.MaxModelLen,
		2, 4, "text-generation-router", "3.3.6", "0000000000000000000000000000000000000000", "sim",
	})
}

func (s *Server) tgiTokenize(w http.ResponseWriter, r *http.Request) {
	var q tgiRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, tgiBodyLimit))
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		tgi{}.refuse(refusal{status: http.StatusUnprocessableEntity, message: err.Error()}).write(w)
		return
	}
	type piece struct {
		ID    uint32 `json:"id"`
		Text  string `json:"text"`
		Start int    `json:"start"`
		Stop  int    `json:"stop"`
	}
	pieces := []piece{{ID: beginID, Text: beginText}}
	for at := range spans(q.Inputs) {
		text := q.Inputs[at.start:at.stop]
		pieces = append(pieces, piece{idOf(text), text, at.start, at.stop})
	}
	writeJSON(w, http.StatusOK, pieces)
}
