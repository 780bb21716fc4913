package wire

import (
	"cmp"
	"encoding/json"
)

// A Tokenizer is a route of a server that counts the tokens of a prompt. One without a path does not exist.
type Tokenizer struct {
	Path   string // takes a POST
	body   func(Ask) body
	counts []string // fields that change the count: they are taken from what the user adds to requests
}

// Body returns the request that asks for the tokens of a's prompt.
func (t Tokenizer) Body(a Ask) ([]byte, error) {
	b := t.body(a)
	for _, key := range t.counts {
		value, isGiven := a.Body[key]
		if isGiven {
			b[key] = value
		}
	}
	return json.Marshal(b)
}

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

// The routes of servers. They are only read.
var (
	vllmPrompt = Tokenizer{Path: "/tokenize", body: func(a Ask) body {
		return body{"model": a.Model, "prompt": a.text()}
	}}
	// The fields are those of TokenizeChatRequest in vllm/entrypoints/serve/tokenize/protocol.py.
	vllmChat = Tokenizer{
		Path: "/tokenize",
		body: func(a Ask) body {
			b := body{"model": a.Model, "messages": a.conversation()}
			if tools := a.Form.tools(); tools != nil { // chat templates write them into the prompt
				b["tools"] = tools
			}
			return b
		},
		counts: []string{"chat_template", "chat_template_kwargs", "add_generation_prompt", "add_special_tokens", "tools"},
	}
	tgiPrompt = Tokenizer{Path: "/tokenize", body: func(a Ask) body {
		return body{"inputs": a.text()}
	}}
	tgiChat     = Tokenizer{Path: "/chat_tokenize", body: vllmChat.body, counts: []string{"tools", "tool_prompt"}}
	llamaPrompt = Tokenizer{Path: "/tokenize", body: func(a Ask) body {
		return body{"content": a.text(), "add_special": true} // counts the tokens that a completion adds as well
	}}
	llamaCppPythonPrompt = Tokenizer{Path: "/extras/tokenize", body: func(a Ask) body {
		return body{"input": a.text()}
	}}
	lmdeployPrompt = Tokenizer{Path: "/v1/encode", body: func(a Ask) body {
		return body{"input": a.text(), "add_bos": true}
	}}
)

// tokenizers are the routes of a server type behind OpenAI's API: for plain prompts and for conversations.
type tokenizers struct{ prompt, chat Tokenizer }

// tokenizersByName is the routes by their names in servers.yaml. The table is only read.
var tokenizersByName = map[string]*tokenizers{
	"none":             {},
	"vllm":             {prompt: vllmPrompt, chat: vllmChat},
	"prompts":          {prompt: vllmPrompt}, // as vLLM, but only for prompts
	"tgi":              {prompt: tgiPrompt, chat: tgiChat},
	"llama":            {prompt: llamaPrompt},
	"llama-cpp-python": {prompt: llamaCppPythonPrompt},
	"lmdeploy":         {prompt: lmdeployPrompt},
}

// promptTokenizer returns the route for plain prompts. A server of unknown type is asked as vLLM is.
func (s Server) promptTokenizer() Tokenizer {
	if s.tokenizers == nil {
		return vllmPrompt
	}
	return s.tokenizers.prompt
}

// chatTokenizer returns the route for conversations. A server of unknown type is asked as vLLM is.
func (s Server) chatTokenizer() Tokenizer {
	if s.tokenizers == nil {
		return vllmChat
	}
	return s.tokenizers.chat
}
