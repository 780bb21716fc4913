package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// ollama is Ollama's native API: POST /api/generate, whose stream is lines of JSON.
type ollama struct{}

// ollamaRequest holds the fields that the simulator knows; others are ignored.
type ollamaRequest struct {
	Model    string          `json:"model"`
	System   string          `json:"system"`
	Prompt   string          `json:"prompt"`
	Raw      bool            `json:"raw"`
	Stream   *bool           `json:"stream"`
	Think    json.RawMessage `json:"think"`
	Truncate *bool           `json:"truncate"`
	Shift    *bool           `json:"shift"`
	Options  struct {
		Predict *int `json:"num_predict"`
		Context *int `json:"num_ctx"`
	} `json:"options"`
}

func (ollama) limit() int64 { return openAIBodyLimit }

// read truncates a prompt that is too long to the end of it, unless told not to.
func (ollama) read(body []byte, c Config) (ask, *refusal) {
	var r ollamaRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return ask{}, bad("", "%v", err)
	}
	if r.Model != c.Model {
		return ask{}, &refusal{status: http.StatusNotFound, message: fmt.Sprintf("model '%s' not found", r.Model)}
	}
	p := plainPrompt(r.Prompt)
	if !r.Raw {
		p = chatPrompt([]string{r.System, r.Prompt})
	}
	context := c.Profile.MaxModelLen
	if n := r.Options.Context; n != nil && *n > 0 {
		context = min(context, *n)
	}
	if n := digestOf(p.tokens(), "").tokens; n > context {
		if r.Truncate != nil && !*r.Truncate {
			return ask{}, bad("", "the input length exceeds the context length")
		}
		p = p.shortened(n - context)
	}
	return ollamaPlan(r, p, context, c), nil
}

// ollamaPlan bounds the answer by the context if that must not shift, and else by the model's length alone.
func ollamaPlan(r ollamaRequest, p prompt, context int, c Config) ask {
	q := ask{
		prompt: p.digest(""), max: c.Profile.MaxModelLen, endless: p.endless(), stream: r.Stream == nil || *r.Stream,
		reasoning: c.Reasoning,
	}
	if string(r.Think) == "false" {
		q.reasoning = 0
	}
	if n := r.Options.Predict; n != nil && *n > 0 {
		q.max = *n
	}
	if r.Shift != nil && !*r.Shift {
		q.max = max(1, min(q.max, context-q.prompt.tokens))
	}
	return q
}

// shortened drops the first so many tokens of the texts.
func (p prompt) shortened(drop int) prompt {
	var kept []string
	for _, text := range p.texts {
		from := len(text)
		for at := range spans(text) {
			if drop == 0 {
				from = at.start
				break
			}
			drop--
		}
		kept = append(kept, text[from:])
	}
	p.texts = kept
	return p
}

func (ollama) refuse(r refusal) reply {
	return reply{status: r.status, contentType: "application/json; charset=utf-8", body: plainError(r.message)}
}

// speak has a line a frame, none for the invisible token, and sends no comments: lines of JSON have none.
func (ollama) speak(a *answer) script {
	return script{
		header: map[string]string{"Content-Type": "application/x-ndjson"},
		late:   true,
		frame: func(from, to int) []byte {
			var out []byte
			if text := a.textOf(from, to); text != "" {
				out = append(mustJSON(a.ollamaPart(from, text)), '\n')
			}
			if to == a.want {
				out = append(append(out, mustJSON(a.ollamaDone("", ""))...), '\n')
			}
			return out
		},
		failure: append(plainError("Simulated fault: the engine failed."), '\n'),
		whole:   func() any { return a.ollamaDone(a.content(), a.thoughts()) },
	}
}

// ollamaLine is what every line has.
type ollamaLine struct {
	Model    string    `json:"model"`
	Created  time.Time `json:"created_at"`
	Response string    `json:"response"`
	Thinking string    `json:"thinking,omitempty"`
	Done     bool      `json:"done"`
}

// ollamaPart is the line of a text whose first token is from.
func (a *answer) ollamaPart(from int, text string) ollamaLine {
	l := ollamaLine{Model: a.model, Created: a.lastAt.UTC(), Response: text}
	if from < a.reasoning {
		l.Response, l.Thinking = "", text
	}
	return l
}

// ollamaDone is the last line, or with texts the answer without a stream. Durations are nanoseconds.
func (a *answer) ollamaDone(response, thinking string) any {
	return struct {
		ollamaLine
		Reason         string        `json:"done_reason"`
		Total          time.Duration `json:"total_duration"`
		Load           time.Duration `json:"load_duration"`
		Prompt         int           `json:"prompt_eval_count"`
		PromptDuration time.Duration `json:"prompt_eval_duration"`
		Eval           int           `json:"eval_count"`
		EvalDuration   time.Duration `json:"eval_duration"`
	}{
		ollamaLine{a.model, a.lastAt.UTC(), response, thinking, true}, a.finish,
		a.lastAt.Sub(a.start), 0, a.prompt.tokens, a.firstAt.Sub(a.origin), a.want, a.lastAt.Sub(a.firstAt),
	}
}

// ollamaRoutes are those of Ollama's server. None counts tokens.
func (s *Server) ollamaRoutes() {
	s.mux.HandleFunc("POST /api/generate", s.compute(ollama{}))
	s.mux.HandleFunc("GET /{$}", constant(textReply(http.StatusOK, "text/plain; charset=utf-8", "Ollama is running")))
	s.mux.HandleFunc("GET /api/version", constant(textReply(http.StatusOK, "application/json; charset=utf-8", `{"version":"0.12.6"}`)))
	s.mux.HandleFunc("GET /v1/models", s.list("library"))
	s.mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		type card struct {
			Name     string    `json:"name"`
			Model    string    `json:"model"`
			Modified time.Time `json:"modified_at"`
			Size     int64     `json:"size"`
			Digest   string    `json:"digest"`
		}
		one := card{s.config.Model, s.config.Model, s.created.UTC(), 1 << 32, fmt.Sprintf("%064x", 1)}
		writeJSON(w, http.StatusOK, map[string][]card{"models": {one}})
	})
}
