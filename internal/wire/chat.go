package wire

import "encoding/json"

// chat is OpenAI's /v1/chat/completions, as vLLM, SGLang, TGI, llama-server and
// most providers speak it.
type chat struct{}

func (chat) Name() string { return "openai-chat" }
func (chat) Path() string { return "/v1/chat/completions" }

func (chat) Fields() []Field { return append(extensions(), FieldMaxTokens) }

func (chat) Body(a Ask) ([]byte, error) {
	r := newRequest(a)
	r.Messages = messages(a)
	if a.Omits(FieldMaxTokens) {
		r.MaxCompletionTokens = a.MaxTokens
	} else {
		r.MaxTokens = a.MaxTokens
	}
	return json.Marshal(r)
}

func (chat) Decode(data []byte) (Delta, error) { return decodeChunk(data) }

func (chat) Count(a Ask) (path string, body []byte, err error) {
	body, err = json.Marshal(request{Model: a.Model, Messages: messages(a)})
	return tokenizePath, body, err
}

func (chat) Counted(reply []byte) (int, bool) { return counted(reply) }

// messages is the conversation that a starts.
func messages(a Ask) []message { return []message{{Role: "user", Content: a.Prompt}} }
