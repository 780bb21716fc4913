package wire

import "encoding/json"

// chat is OpenAI's /v1/chat/completions, as vLLM, SGLang, TGI, llama-server and
// most providers speak it.
type chat struct{ common }

func (chat) Name() string      { return "openai-chat" }
func (chat) Path(a Ask) string { return a.Server.Prefix + "/v1/chat/completions" }

func (chat) Fields() []Field { return append(extensions(), FieldMaxTokens, FieldMaxCompletionTokens) }

// Body bounds the answer by both names where nothing is known of the server: one that
// does not know the name that it is given may generate without end.
func (chat) Body(a Ask) ([]byte, error) {
	b := chatBody(a)
	if a.Server.Name == "" {
		b.ask(a, FieldMaxCompletionTokens, "max_completion_tokens", a.MaxTokens)
	}
	return json.Marshal(b)
}

// chatBody is the request of a conversation. It always bounds the answer, by one of
// two names.
func chatBody(a Ask) body {
	b := newBody(a)
	b["messages"] = a.conversation()
	if a.Omits(FieldMaxTokens) {
		b["max_completion_tokens"] = a.MaxTokens
	} else {
		b["max_tokens"] = a.MaxTokens
	}
	return b
}

func (chat) Decode(data []byte) (Delta, error) { return decodeChunk(data) }

func (chat) Tokenizer(s Server) (Tokenizer, bool) { return s.chatTokenizer() }
