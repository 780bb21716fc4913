package wire

import "encoding/json"

// completions is OpenAI's older /v1/completions: a prompt without a chat template, so its length is the
// prober's own. Some servers take it as token ids.
type completions struct{ common }

func (completions) Name() string      { return "openai-completions" }
func (completions) Path(a Ask) string { return a.Server.Prefix + "/v1/completions" }
func (completions) Fields() []Field   { return extensions() }

func (completions) Body(a Ask) ([]byte, error) {
	b := openAIBody(a, extensions())
	b["max_tokens"] = a.MaxTokens
	b.prompt(a, "prompt", "prompt")
	return json.Marshal(b)
}

func (completions) TakesIDs(s Server) bool               { return s.IDs }
func (completions) Decode(data []byte) (Delta, error)    { return decodeChunk(data) }
func (completions) Tokenizer(s Server) (Tokenizer, bool) { return s.tokenizer() }
