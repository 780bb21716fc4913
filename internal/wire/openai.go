package wire

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// chat is OpenAI's /v1/chat/completions, as vLLM, SGLang, TGI, llama-server and most providers serve it.
var chat = &Dialect{
	Name: "openai-chat", Path: v1("/chat/completions"), read: readChunk,
	Fields: append(slices.Clone(extensions), FieldMaxTokens, FieldMaxCompletionTokens),
	body:   chatBody, keys: streamOptions, tokenizer: Server.chatTokenizer,
}

// completions is OpenAI's older /v1/completions: a prompt without a chat template.
var completions = &Dialect{
	Name: "openai-completions", Path: v1("/completions"), read: readChunk,
	Fields: extensions, keys: streamOptions,
	body: func(a Ask) body {
		b := openAIBody(a)
		b["prompt"], b["max_tokens"] = a.text(), a.MaxTokens
		return b
	},
	tokenizer: Server.tokenizer,
}

// azure is Azure's own path to chat completions, where the model is a deployment. Its newer path, /openai/v1, is [chat]'s.
var azure = &Dialect{
	Name: "azure-openai", read: readChunk, keyHeader: "api-key",
	Fields: []Field{FieldStreamOptions, FieldSeed, FieldTemperature, FieldMaxTokens}, body: chatBody, keys: streamOptions,
	Path: func(a Ask) string {
		version := cmp.Or(a.Version, "2024-10-21") // the latest that is no preview
		return "/openai/deployments/" + url.PathEscape(a.Model) + "/chat/completions?api-version=" + url.QueryEscape(version)
	},
}

// extensions are the optional fields of chat and completions. Both min_tokens and ignore_eos are needed: vLLM masks the
// end-of-sequence token only until min_tokens is reached. The list is only read.
var extensions = []Field{
	FieldMinTokens, FieldIgnoreEOS, FieldContinuousUsage, FieldStreamOptions,
	FieldCacheSalt, FieldPriority, FieldSeed, FieldTemperature,
}

// streamOptions are the keys of those that lie in stream_options. The table is only read.
var streamOptions = map[Field]string{
	FieldStreamOptions:   "stream_options.include_usage",
	FieldContinuousUsage: "stream_options.continuous_usage_stats",
}

// chatBody is the request of a conversation. It always bounds the answer, by at least one of two names.
func chatBody(a Ask) body {
	b := openAIBody(a)
	b["messages"] = a.conversation()
	if a.Omits(FieldMaxTokens) {
		b["max_completion_tokens"] = a.MaxTokens
	}
	return b
}

// openAIBody is what the requests of clouds' APIs have in common: the model, and what the server type needs in each.
func openAIBody(a Ask) body {
	b := body{"stream": true}
	if a.Model != "" {
		b["model"] = a.Model
	}
	for key, value := range a.Server.Extra {
		b.set(key, value)
	}
	return b
}

// readChunk reads a chunk. Probes ask for one choice; of several, all count as one.
func readChunk(frame []byte) (d Delta) {
	fields(frame, func(key, value []byte) {
		switch string(key) {
		case "choices":
			elements(value, d.addChoice)
		case "usage":
			fields(value, d.Usage.add)
		case "x_groq": // Groq puts usage here, in its last frame
			fields(member(value, "usage"), d.Usage.add)
		case "timings": // llama-server, in its last frame
			d.Usage = d.Usage.Merge(timings(value))
		}
	})
	return d
}

func (d *Delta) addChoice(choice []byte) {
	d.Choice = true
	role := false
	fields(choice, func(key, value []byte) {
		switch string(key) {
		case "delta":
			role = member(value, "role") != nil
			d.addMessage(value)
		case "text": // completions
			d.Text = join(d.Text, textIn(value))
		case "token_ids", "output_ids": // vLLM; LMDeploy
			elements(value, func([]byte) { d.Tokens++ })
		case "finish_reason":
			d.finish(textIn(value))
		}
	})
	d.Role = role && len(d.Text)+len(d.Reasoning) == 0 && d.Tokens == 0 && d.Finish == ""
}

// finish notes a finish reason; an empty one is none (TGI writes it). Of a text of several words the start is kept.
func (d *Delta) finish(reason []byte) {
	const longest = 40
	if len(reason) > 0 {
		d.Finish = strings.ToValidUTF8(string(reason[:min(longest, len(reason))]), "")
	}
}

// addMessage adds text and reasoning of a message or of a delta. Servers write the same reasoning under several keys.
func (d *Delta) addMessage(message []byte) {
	var flat, nested []byte
	fields(message, func(key, value []byte) {
		switch string(key) {
		case "content":
			var visible []byte
			visible, nested = contentIn(value)
			d.Text = join(d.Text, visible)
		case "reasoning", "reasoning_content", "thinking": // the last: Ollama
			if len(flat) == 0 {
				flat = textIn(value)
			}
		case "reasoning_details": // OpenRouter
			details, _ := contentIn(value)
			nested = join(nested, details)
		case "refusal":
			refusal := textIn(value)
			d.Text = join(d.Text, refusal)
			d.Refusal = d.Refusal || len(refusal) > 0
		case "tool_calls":
			elements(value, func(call []byte) { d.addCall(member(call, "function")) })
		case "function_call":
			d.addCall(value)
		}
	})
	if len(flat) == 0 {
		flat = nested
	}
	d.Reasoning = join(d.Reasoning, flat)
}

func (d *Delta) addCall(function []byte) {
	fields(function, func(key, value []byte) {
		if string(key) == "name" || string(key) == "arguments" {
			d.Text = join(d.Text, textIn(value))
		}
	})
}

// contentIn is a string, or a list of parts: Mistral nests its thinking there.
func contentIn(value []byte) (visible, thinking []byte) {
	if visible = textIn(value); visible != nil {
		return visible, nil
	}
	elements(value, func(part []byte) {
		fields(part, func(key, value []byte) {
			switch string(key) {
			case "text", "summary":
				visible = join(visible, textIn(value))
			case "thinking":
				nested, _ := contentIn(value)
				thinking = join(thinking, nested)
			}
		})
	})
	return visible, thinking
}

// timings are llama-server's own counts. The prompt's length is the tokens evaluated now and those found in the cache.
func timings(value []byte) Usage {
	u := Usage{Cached: detail(value, "cache_n"), Output: detail(value, "predicted_n")}
	if evaluated := detail(value, "prompt_n"); evaluated.Known && u.Cached.Known {
		u.Prompt = Tokens(min(maxCount, evaluated.N+u.Cached.N))
	}
	return u
}
