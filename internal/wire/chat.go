package wire

import "encoding/json"

// chat is OpenAI's /v1/chat/completions, as vLLM, SGLang, TGI, llama-server and most providers serve it.
type chat struct{ common }

func (chat) Name() string               { return "openai-chat" }
func (chat) Path(a Ask) string          { return a.Server.Prefix + "/v1/chat/completions" }
func (chat) Fields() []Field            { return append(extensions(), FieldMaxTokens, FieldMaxCompletionTokens) }
func (chat) Body(a Ask) ([]byte, error) { return json.Marshal(chatBody(a, chat{}.Fields())) }

// chatBody is the request of a conversation. It always bounds the answer, by at least one of two names.
func chatBody(a Ask, optional []Field) body {
	b := openAIBody(a, optional)
	b["messages"] = a.conversation()
	if a.Omits(FieldMaxTokens) {
		b["max_completion_tokens"] = a.MaxTokens
	}
	return b
}

func (chat) Decode(data []byte) (Delta, error)    { return decodeChunk(data) }
func (chat) Tokenizer(s Server) (Tokenizer, bool) { return s.chatTokenizer() }
