package wire

import (
	"bytes"
	"encoding/json"
)

// A Tokenizer is a route of a server that counts the tokens of a prompt.
type Tokenizer struct {
	Path string // takes a POST
	body func(Ask) any
	read func(reply []byte) Tokenized
}

// Tokenized is what a tokenizer says of a prompt.
type Tokenized struct {
	N   int   // tokens; 0 if the reply is no count, as on servers without the route
	IDs []int // the tokens themselves; nil if it does not tell them
}

// Body is the request that asks for the tokens of a's prompt.
func (t Tokenizer) Body(a Ask) ([]byte, error) { return json.Marshal(t.body(a)) }

// Read understands a reply.
func (t Tokenizer) Read(reply []byte) Tokenized { return t.read(reply) }

// The kinds of tokenizer routes of servers behind the OpenAI API.
const (
	tokenizeVLLM   = "vllm"     // of prompts and of conversations
	tokenizePrompt = "prompt"   // the same, of prompts only
	tokenizeTGI    = "tgi"      // one route each
	tokenizeLlama  = "llama"    // of prompts only
	tokenizeExtras = "extras"   // of prompts only, llama-cpp-python
	encodeLMDeploy = "lmdeploy" // of prompts only
	tokenizeNone   = "none"
)

// tokenizer is the route that counts the tokens of a conversation (chat) or of a
// plain prompt. Servers of an unknown kind are asked as vLLM is.
func (s Server) tokenizer(chat bool) (Tokenizer, bool) {
	switch {
	case s.Tokenize == tokenizeVLLM || s.Tokenize == "":
		return vllmTokenizer(chat), true
	case s.Tokenize == tokenizeTGI && chat:
		return tgiChatTokenizer(), true
	case s.Tokenize == tokenizeTGI:
		return tgiTokenizer(), true
	case s.Tokenize == tokenizePrompt && !chat:
		return vllmTokenizer(chat), true
	case s.Tokenize == tokenizeLlama && !chat:
		return llamaTokenizer(), true
	case s.Tokenize == tokenizeExtras && !chat:
		return extrasTokenizer(), true
	case s.Tokenize == encodeLMDeploy && !chat:
		return lmdeployTokenizer(), true
	}
	return Tokenizer{}, false
}

// vllmTokenizer is /tokenize of vLLM and SGLang.
func vllmTokenizer(chat bool) Tokenizer {
	return Tokenizer{
		Path: "/tokenize",
		body: func(a Ask) any {
			b := body{"model": a.Model}
			if chat {
				b["messages"] = a.conversation()
			} else {
				b["prompt"] = a.text()
			}
			return b
		},
		read: func(reply []byte) Tokenized {
			var r struct {
				Count  int             `json:"count"`
				Tokens json.RawMessage `json:"tokens"`
			}
			if json.Unmarshal(reply, &r) != nil || r.Count <= 0 {
				return Tokenized{}
			}
			if chat { // no API takes a conversation in ids
				return Tokenized{N: r.Count}
			}
			return Tokenized{N: r.Count, IDs: idsIn(r.Tokens)}
		},
	}
}

// tgiTokenizer is /tokenize of TGI: its reply is a list of tokens.
func tgiTokenizer() Tokenizer {
	return Tokenizer{
		Path: "/tokenize",
		body: func(a Ask) any { return body{"inputs": a.text()} },
		read: func(reply []byte) Tokenized { return listed(reply) },
	}
}

// tgiChatTokenizer is /chat_tokenize of TGI.
func tgiChatTokenizer() Tokenizer {
	return Tokenizer{
		Path: "/chat_tokenize",
		body: func(a Ask) any { return body{"model": a.Model, "messages": a.conversation()} },
		read: func(reply []byte) Tokenized {
			var r struct {
				Tokens json.RawMessage `json:"tokenize_response"`
			}
			_ = json.Unmarshal(reply, &r) // no list is no count
			return listed(r.Tokens)
		},
	}
}

// llamaTokenizer is /tokenize of llama-server. It adds the tokens that a
// completion adds.
func llamaTokenizer() Tokenizer {
	return Tokenizer{
		Path: "/tokenize",
		body: func(a Ask) any { return body{"content": a.text(), "add_special": true} },
		read: func(reply []byte) Tokenized {
			var r struct {
				Tokens json.RawMessage `json:"tokens"`
			}
			_ = json.Unmarshal(reply, &r) // no list is no count
			return Tokenized{N: listed(r.Tokens).N, IDs: idsIn(r.Tokens)}
		},
	}
}

// extrasTokenizer is /extras/tokenize of llama-cpp-python, which takes no prompts in ids.
func extrasTokenizer() Tokenizer {
	t := llamaTokenizer()
	read := t.read
	t.Path = "/extras/tokenize"
	t.body = func(a Ask) any { return body{"input": a.text()} }
	t.read = func(reply []byte) Tokenized { return Tokenized{N: read(reply).N} }
	return t
}

// lmdeployTokenizer is /v1/encode of LMDeploy.
func lmdeployTokenizer() Tokenizer {
	return Tokenizer{
		Path: "/v1/encode",
		body: func(a Ask) any { return body{"input": a.text(), "add_bos": true} },
		read: func(reply []byte) Tokenized {
			var r struct {
				IDs    json.RawMessage `json:"input_ids"`
				Length int             `json:"length"`
			}
			if json.Unmarshal(reply, &r) != nil || r.Length <= 0 {
				return Tokenized{}
			}
			return Tokenized{N: r.Length, IDs: idsIn(r.IDs)}
		},
	}
}

// listed counts the elements of a list.
func listed(list []byte) (t Tokenized) {
	if list = bytes.TrimSpace(list); !json.Valid(list) {
		return Tokenized{}
	}
	elements(list, func([]byte) { t.N++ })
	return t
}

// idsIn is a list of token ids; nil for anything else.
func idsIn(list []byte) []int {
	var ids []int
	if json.Unmarshal(list, &ids) != nil || len(ids) == 0 {
		return nil
	}
	return ids
}

// inputTokens is a route that counts what a request would have as its input.
func inputTokens(path string, body func(Ask) any) Tokenizer {
	return Tokenizer{
		Path: path,
		body: body,
		read: func(reply []byte) Tokenized {
			var r struct {
				N      int    `json:"input_tokens"`
				Source string `json:"litellm_count_source"`
			}
			estimated := json.Unmarshal(reply, &r) == nil && r.Source == "local_estimate" // by another tokenizer than the model's
			if r.N <= 0 || estimated {
				return Tokenized{}
			}
			return Tokenized{N: r.N}
		},
	}
}
