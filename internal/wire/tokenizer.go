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
}

// Body is the request that asks for the tokens of a's prompt.
func (t Tokenizer) Body(a Ask) ([]byte, error) { return json.Marshal(t.body(a)) }

// Read returns the tokens that a reply tells: a count, or a list that has them as its elements. They are unknown if the
// reply is no count, as on servers without the route, or one by another tokenizer than the model's.
func (t Tokenizer) Read(reply []byte) Count {
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
	if !json.Valid(reply) || r.Source == "local_estimate" {
		return Count{}
	}
	listed := 0
	elements(list, func([]byte) { listed++ })
	if n := cmp.Or(r.Count, r.Length, r.Input, listed); n > 0 {
		return Tokens(n)
	}
	return Count{}
}

// tokenizers are a server type's routes, for prompts and for conversations. One without a path is not there.
type tokenizers struct{ prompt, chat Tokenizer }

// The routes of servers behind the OpenAI API. They are only read.
var (
	vllmTokens = &tokenizers{
		Tokenizer{Path: "/tokenize", body: func(a Ask) body { return body{"model": a.Model, "prompt": a.text()} }},
		Tokenizer{Path: "/tokenize", body: func(a Ask) body { return body{"model": a.Model, "messages": a.conversation()} }},
	}
	promptTokens = &tokenizers{prompt: vllmTokens.prompt} // as vLLM, of prompts only
	tgiTokens    = &tokenizers{
		Tokenizer{Path: "/tokenize", body: func(a Ask) body { return body{"inputs": a.text()} }},
		Tokenizer{Path: "/chat_tokenize", body: vllmTokens.chat.body},
	}
	llamaTokens = &tokenizers{prompt: Tokenizer{Path: "/tokenize", body: func(a Ask) body {
		return body{"content": a.text(), "add_special": true} // the tokens that a completion adds
	}}}
	llamaCppPythonTokens = &tokenizers{prompt: Tokenizer{Path: "/extras/tokenize", body: func(a Ask) body { return body{"input": a.text()} }}}
	lmdeployTokens       = &tokenizers{prompt: Tokenizer{Path: "/v1/encode", body: func(a Ask) body {
		return body{"input": a.text(), "add_bos": true}
	}}}
	noTokens = &tokenizers{}
)

// tokenizer and chatTokenizer count plain prompts and conversations. Servers of unknown type are asked as vLLM is.
func (s Server) tokenizer() Tokenizer     { return cmp.Or(s.Tokenize, vllmTokens).prompt }
func (s Server) chatTokenizer() Tokenizer { return cmp.Or(s.Tokenize, vllmTokens).chat }
