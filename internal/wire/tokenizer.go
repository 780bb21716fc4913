package wire

import (
	"cmp"
	"encoding/json"
)

// A Tokenizer is a route of a server that counts the tokens of a prompt. One without a path does not exist.
type Tokenizer struct {
	Path string // takes a POST
	body func(Ask) body
}

// Body returns the request that asks for the tokens of a's prompt.
func (t Tokenizer) Body(a Ask) ([]byte, error) { return json.Marshal(t.body(a)) }

// Read returns the number of tokens in a reply, which is a count or a list of the tokens. It is unknown if the reply is
// something else, as on servers without the route, or if another tokenizer than the model's has counted.
func (t Tokenizer) Read(reply []byte) Count {
	value, _ := parseJSON(reply)
	if member(value, "litellm_count_source").Str == "local_estimate" {
		return Count{}
	}
	n := cmp.Or(
		countIn(member(value, "count")).N,                // vLLM, SGLang
		countIn(member(value, "length")).N,               // LMDeploy
		countIn(member(value, "input_tokens")).N,         // Anthropic, OpenAI
		elementCount(member(value, "tokens")),            // vLLM, SGLang, llama.cpp
		elementCount(member(value, "input_ids")),         // LMDeploy
		elementCount(member(value, "tokenize_response")), // TGI, of a conversation
		elementCount(value),                              // TGI, of a plain prompt
	)
	if n == 0 {
		return Count{}
	}
	return Tokens(n)
}

// tokenizers are the routes of a server type: for plain prompts and for conversations.
type tokenizers struct{ prompt, chat Tokenizer }

// The routes of servers behind the OpenAI API. They are only read.
var (
	vllmTokens = &tokenizers{
		prompt: Tokenizer{Path: "/tokenize", body: func(a Ask) body {
			return body{"model": a.Model, "prompt": a.text()}
		}},
		chat: Tokenizer{Path: "/tokenize", body: func(a Ask) body {
			return body{"model": a.Model, "messages": a.conversation()}
		}},
	}
	promptTokens = &tokenizers{prompt: vllmTokens.prompt} // as vLLM, but only for prompts
	tgiTokens    = &tokenizers{
		prompt: Tokenizer{Path: "/tokenize", body: func(a Ask) body {
			return body{"inputs": a.text()}
		}},
		chat: Tokenizer{Path: "/chat_tokenize", body: vllmTokens.chat.body},
	}
	llamaTokens = &tokenizers{prompt: Tokenizer{Path: "/tokenize", body: func(a Ask) body {
		return body{"content": a.text(), "add_special": true} // counts the tokens that a completion adds as well
	}}}
	llamaCppPythonTokens = &tokenizers{prompt: Tokenizer{Path: "/extras/tokenize", body: func(a Ask) body {
		return body{"input": a.text()}
	}}}
	lmdeployTokens = &tokenizers{prompt: Tokenizer{Path: "/v1/encode", body: func(a Ask) body {
		return body{"input": a.text(), "add_bos": true}
	}}}
	noTokens = &tokenizers{}
)

// tokenizersByName is the routes by their names in servers.yaml. The table is only read.
var tokenizersByName = map[string]*tokenizers{
	"none":             noTokens,
	"vllm":             vllmTokens,
	"prompts":          promptTokens,
	"tgi":              tgiTokens,
	"llama":            llamaTokens,
	"llama-cpp-python": llamaCppPythonTokens,
	"lmdeploy":         lmdeployTokens,
}

// tokenizer returns the route for plain prompts. A server of unknown type is asked as vLLM is.
func (s Server) tokenizer() Tokenizer { return cmp.Or(s.Tokenize, vllmTokens).prompt }

// chatTokenizer returns the route for conversations. A server of unknown type is asked as vLLM is.
func (s Server) chatTokenizer() Tokenizer { return cmp.Or(s.Tokenize, vllmTokens).chat }
