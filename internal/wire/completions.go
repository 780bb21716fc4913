package wire

import "encoding/json"

// completions is OpenAI's older /v1/completions: a prompt without a chat
// template, so its length is the prober's own.
type completions struct{}

func (completions) Name() string { return "openai-completions" }
func (completions) Path() string { return "/v1/completions" }

func (completions) Fields() []Field { return extensions() }

func (completions) Body(a Ask) ([]byte, error) {
	r := newRequest(a)
	r.Prompt = a.Prompt
	r.MaxTokens = a.MaxTokens
	return json.Marshal(r)
}

func (completions) Decode(data []byte) (Delta, error) { return decodeChunk(data) }

func (completions) Count(a Ask) (path string, body []byte, err error) {
	body, err = json.Marshal(request{Model: a.Model, Prompt: a.Prompt})
	return tokenizePath, body, err
}

func (completions) Counted(reply []byte) (int, bool) { return counted(reply) }
