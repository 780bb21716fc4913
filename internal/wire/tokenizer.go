package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
)

// A Tokenizer is a route of a server that counts the tokens of a prompt.
type Tokenizer struct {
	Path string // takes a POST
	body func(Ask) body
	ids  bool // the server takes the token ids of its reply as a prompt
}

// Tokenized is the reply of a tokenizer.
type Tokenized struct {
	N   int   // tokens; 0 if the reply is no count, as on servers without the route
	IDs []int // the tokens themselves; nil if it does not tell them
}

// Body is the request that asks for the tokens of a's prompt.
func (t Tokenizer) Body(a Ask) ([]byte, error) { return json.Marshal(t.body(a)) }

// Read reads a reply: a count, or a list that has the tokens as its elements.
func (t Tokenizer) Read(reply []byte) (result Tokenized) {
	var r struct {
		Count     int             `json:"count"`        // vLLM, SGLang
		Length    int             `json:"length"`       // LMDeploy
		Input     int             `json:"input_tokens"` // Anthropic, OpenAI
		Tokens    json.RawMessage `json:"tokens"`       // vLLM, SGLang, llama.cpp
		InputIDs  json.RawMessage `json:"input_ids"`    // LMDeploy
		Templated json.RawMessage `json:"tokenize_response"`
		Source    string          `json:"litellm_count_source"`
	}
	list := bytes.TrimSpace(reply)
	if json.Unmarshal(reply, &r) == nil {
		list = bytes.Join([][]byte{r.Tokens, r.InputIDs, r.Templated}, nil) // a server sends one of them
	}
	if !json.Valid(reply) || r.Source == "local_estimate" { // by another tokenizer than the model's
		return Tokenized{}
	}
	elements(list, func([]byte) { result.N++ })
	result.N = max(0, cmp.Or(r.Count, r.Length, r.Input, result.N))
	if t.ids && result.N > 0 && json.Unmarshal(list, &result.IDs) != nil { // objects with an id each
		result.IDs = nil
	}
	return result
}

// The tokenizer routes of servers behind the OpenAI API.
const (
	tokenizeVLLM   = "vllm"     // of prompts and of conversations
	tokenizePrompt = "prompt"   // the same, of prompts only
	tokenizeTGI    = "tgi"      // one route each
	tokenizeLlama  = "llama"    // of prompts only
	tokenizeExtras = "extras"   // of prompts only, llama-cpp-python
	encodeLMDeploy = "lmdeploy" // of prompts only
	tokenizeNone   = "none"
)

var (
	vllmPrompt = Tokenizer{Path: "/tokenize", ids: true, body: func(a Ask) body { return body{"model": a.Model, "prompt": a.text()} }}
	vllmChat   = Tokenizer{Path: "/tokenize", body: func(a Ask) body { return body{"model": a.Model, "messages": a.conversation()} }}
	tgiChat    = Tokenizer{Path: "/chat_tokenize", body: vllmChat.body}
)

// tokenizers are these routes, of prompts and of conversations. Server types that are not
// known are asked as vLLM is. The table is only read.
var tokenizers = map[string]struct{ prompt, chat Tokenizer }{
	"":             {vllmPrompt, vllmChat},
	tokenizeVLLM:   {vllmPrompt, vllmChat},
	tokenizePrompt: {prompt: vllmPrompt},
	tokenizeTGI:    {Tokenizer{Path: "/tokenize", body: func(a Ask) body { return body{"inputs": a.text()} }}, tgiChat},
	tokenizeLlama: {prompt: Tokenizer{Path: "/tokenize", ids: true, body: func(a Ask) body {
		return body{"content": a.text(), "add_special": true} // the tokens that a completion adds
	}}},
	tokenizeExtras: {prompt: Tokenizer{Path: "/extras/tokenize", body: func(a Ask) body { return body{"input": a.text()} }}},
	encodeLMDeploy: {prompt: Tokenizer{Path: "/v1/encode", ids: true, body: func(a Ask) body { return body{"input": a.text(), "add_bos": true} }}},
}

// tokenizer is the route that counts the tokens of a plain prompt.
func (s Server) tokenizer() (Tokenizer, bool) {
	t := tokenizers[s.Tokenize].prompt
	return t, t.Path != ""
}

// chatTokenizer is the route that counts the tokens of a conversation.
func (s Server) chatTokenizer() (Tokenizer, bool) {
	t := tokenizers[s.Tokenize].chat
	return t, t.Path != ""
}
