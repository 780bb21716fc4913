package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// leastOutput is the least max_output_tokens that the Responses API takes.
const leastOutput = 16

// responses is OpenAI's Responses API: POST /v1/responses.
type responses struct{}

// responsesRequest holds the fields that the simulator knows.
type responsesRequest struct {
	Model        string         `json:"model"`
	Input        responsesInput `json:"input"`
	Instructions string         `json:"instructions"`
	Max          *int           `json:"max_output_tokens"`
	Stream       bool           `json:"stream"`
}

// responsesInput are the texts of an input, which is a string or a list of messages.
type responsesInput []string

func (in *responsesInput) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*in = responsesInput{text}
		return nil
	}
	var messages []message
	err := json.Unmarshal(data, &messages)
	*in = texts(messages)
	return err
}

// responsesFields are the fields that the API takes; it refuses others.
func responsesFields() []string {
	return []string{
		"model", "input", "instructions", "max_output_tokens", "stream", "background", "conversation", "include",
		"max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key",
		"prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "stream_options",
		"temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
	}
}

func (responses) limit() int64 { return openAIBodyLimit }

func (responses) read(body []byte, c Config) (ask, *refusal) {
	r, refused := responsesParse(body, c)
	if refused != nil {
		return ask{}, refused
	}
	p := r.prompt()
	q := ask{prompt: p.digest(""), endless: p.endless(), stream: r.Stream, reasoning: c.Reasoning, more: r}
	room := c.Profile.MaxModelLen - q.prompt.tokens
	if room < 1 {
		refused := bad("input", "Your input exceeds the context window of this model. Please adjust your input and try again.")
		refused.name = "context_length_exceeded"
		return q, refused
	}
	q.max = room
	if r.Max != nil {
		q.max = min(room, *r.Max)
	}
	return q, nil
}

// responsesParse decodes and checks what counting tokens needs as well.
func responsesParse(body []byte, c Config) (responsesRequest, *refusal) {
	var r responsesRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, bad("", "We could not parse the JSON body of your request: %v", err)
	}
	coded := func(code string, refused *refusal) (responsesRequest, *refusal) {
		refused.name = code
		return r, refused
	}
	unknown := unknownFields(body, responsesFields())
	switch {
	case len(unknown) > 0:
		return coded("unknown_parameter", bad(unknown[0], "Unknown parameter: '%s'.", unknown[0]))
	case r.Model == "":
		return coded("missing_required_parameter", bad("model", "Missing required parameter: 'model'."))
	case r.Model != c.Model:
		return coded("model_not_found", bad("model", "The requested model '%s' does not exist.", r.Model))
	case len(r.Input) == 0:
		return coded("missing_required_parameter", bad("input", "Missing required parameter: 'input'."))
	case r.Max != nil && *r.Max < leastOutput:
		return coded("integer_below_min_value", bad("max_output_tokens",
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got %d instead.", leastOutput, *r.Max))
	}
	return r, nil
}

func (r responsesRequest) prompt() prompt {
	return chatPrompt(append([]string{r.Instructions}, r.Input...))
}

// refuse spells an error as OpenAI's platform does.
func (responses) refuse(r refusal) reply {
	if r.status == http.StatusUnauthorized && r.kind != "" {
		r.message, r.name = "Incorrect API key provided.", "invalid_api_key"
	}
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	e := detail{Message: r.message, Type: platformErrorType(r.status)}
	if r.param != "" {
		e.Param = &r.param
	}
	if r.status == http.StatusTooManyRequests {
		r.name = "rate_limit_exceeded"
	}
	if r.name != "" {
		e.Code = &r.name
	}
	return reply{status: r.status, contentType: "application/json", body: mustJSON(map[string]detail{"error": e})}
}

func platformErrorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "requests"
	case status < http.StatusInternalServerError:
		return "invalid_request_error"
	}
	return "server_error"
}

// responsesRoutes are those of OpenAI's platform that belong to responses. All want the key.
func (s *Server) responsesRoutes() {
	s.mux.HandleFunc("POST /v1/responses", s.compute(responses{}))
	s.mux.HandleFunc("GET /v1/models", s.guarded(responses{}.refuse, s.list("openai")))
	if !s.config.NoTokenize {
		s.mux.HandleFunc("POST /v1/responses/input_tokens", s.guarded(responses{}.refuse, s.responsesCount))
	}
}

func (s *Server) responsesCount(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, openAIBodyLimit))
	if err != nil {
		responses{}.refuse(refusal{status: http.StatusRequestEntityTooLarge, message: err.Error()}).write(w)
		return
	}
	q, refused := responsesParse(body, s.config)
	if refused != nil {
		responses{}.refuse(*refused).write(w)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Object string `json:"object"`
		Tokens int    `json:"input_tokens"`
	}{"response.input_tokens", digestOf(q.prompt().tokens(), "").tokens})
}

type usageDetails struct {
	Cached int `json:"cached_tokens"`
}

type completionDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

// responseUsage is the usage of a response.
type responseUsage struct {
	Input        int               `json:"input_tokens"`
	InputDetails usageDetails      `json:"input_tokens_details"`
	Output       int               `json:"output_tokens"`
	OutputParts  completionDetails `json:"output_tokens_details"`
	Total        int               `json:"total_tokens"`
}

// response is a response; Usage is nil while it is not over.
type response struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"`
	Created    int64          `json:"created_at"`
	Status     string         `json:"status"`
	Error      *string        `json:"error"`
	Incomplete *incomplete    `json:"incomplete_details"`
	Max        *int           `json:"max_output_tokens"`
	Model      string         `json:"model"`
	Output     []any          `json:"output"`
	Usage      *responseUsage `json:"usage"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// response is the answer before anything was generated.
func (a *answer) response() response {
	r, _ := a.more.(responsesRequest)
	return response{
		ID: fmt.Sprintf("resp_%032x", a.id), Object: "response", Created: a.start.Unix(), Status: "in_progress",
		Max: r.Max, Model: a.model, Output: []any{},
	}
}

// responseEnd is the answer when it is over.
func (a *answer) responseEnd() response {
	r := a.response()
	r.Status = "completed"
	if a.finish == "length" {
		r.Status, r.Incomplete = "incomplete", &incomplete{"max_output_tokens"}
	}
	if a.reasoning > a.hidden {
		r.Output = append(r.Output, a.reasoningItem("completed"))
	}
	if a.reasoning < a.want || a.hidden == a.want {
		r.Output = append(r.Output, a.messageItem(r.Status))
	}
	r.Usage = &responseUsage{a.prompt.tokens, usageDetails{a.cached}, a.want, completionDetails{a.reasoning}, a.prompt.tokens + a.want}
	return r
}
