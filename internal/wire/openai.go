package wire

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// chat is OpenAI's /v1/chat/completions, as vLLM, SGLang, TGI, llama-server and most providers serve it.
var chat = &Dialect{
	Name:      "openai-chat",
	Path:      v1Path("/chat/completions"),
	Fields:    append(slices.Clone(extensions), FieldMaxTokens, FieldMaxCompletionTokens),
	body:      chatBody,
	keys:      streamOptions,
	read:      readChunk,
	tokenizer: Server.chatTokenizer,
}

// completions is OpenAI's older /v1/completions: a prompt without a chat template.
var completions = &Dialect{
	Name:      "openai-completions",
	Path:      v1Path("/completions"),
	Fields:    extensions,
	body:      completionBody,
	keys:      streamOptions,
	read:      readChunk,
	tokenizer: Server.tokenizer,
}

// azure is Azure's own path to chat completions, where the model is a deployment. Azure's newer path, /openai/v1, is
// that of [chat].
var azure = &Dialect{
	Name:      "azure-openai",
	Path:      deploymentPath,
	Fields:    []Field{FieldStreamOptions, FieldSeed, FieldTemperature, FieldMaxTokens},
	body:      chatBody,
	keys:      streamOptions,
	read:      readChunk,
	keyHeader: "api-key",
}

// deploymentPath returns the path of a model's deployment on Azure.
func deploymentPath(a Ask) string {
	version := cmp.Or(a.Version, "2024-10-21") // the latest that is not a preview
	path := "/openai/deployments/" + url.PathEscape(a.Model) + "/chat/completions"
	return path + "?api-version=" + url.QueryEscape(version)
}

// extensions are the optional fields of chat and completions. Both min_tokens and ignore_eos are needed: vLLM masks the
// end-of-sequence token only until min_tokens is reached. The list is only read.
var extensions = []Field{
	FieldMinTokens, FieldIgnoreEOS, FieldContinuousUsage, FieldStreamOptions,
	FieldCacheSalt, FieldPriority, FieldSeed, FieldTemperature,
}

// streamOptions are the keys of the fields that lie in stream_options. The table is only read.
var streamOptions = map[Field]string{
	FieldStreamOptions:   "stream_options.include_usage",
	FieldContinuousUsage: "stream_options.continuous_usage_stats",
}

// chatBody returns the request of a conversation. It always bounds the answer, by at least one of the two names that
// the limit has.
func chatBody(a Ask) body {
	b := openAIBody(a)
	b["messages"] = a.conversation()
	if a.Omits(FieldMaxTokens) {
		b["max_completion_tokens"] = a.MaxTokens
	}
	return b
}

// completionBody returns the request of a plain prompt.
func completionBody(a Ask) body {
	b := openAIBody(a)
	b["prompt"] = a.text()
	b["max_tokens"] = a.MaxTokens
	return b
}

// openAIBody returns what the requests of OpenAI's and Anthropic's APIs have in common: the model, and the fields that
// a server type needs in each.
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

// readChunk reads a chunk. Probes ask for one choice; if there are several, all count as one.
func readChunk(frame []byte) Delta {
	var d Delta
	eachField(frame, func(key, value []byte) {
		switch string(key) {
		case "choices":
			eachElement(value, d.addChoice)
		case "usage":
			eachField(value, d.Usage.add)
		case "x_groq": // Groq has usage here, in its last frame
			eachField(memberOf(value, "usage"), d.Usage.add)
		case "timings": // llama-server, in its last frame
			d.Usage = d.Usage.Merge(timings(value))
		}
	})
	return d
}

// addChoice adds a choice of a chunk.
func (d *Delta) addChoice(choice []byte) {
	d.Choice = true
	hasRole := false
	eachField(choice, func(key, value []byte) {
		switch string(key) {
		case "delta":
			hasRole = memberOf(value, "role") != nil
			d.addMessage(value)
		case "text": // completions
			d.Text = appendText(d.Text, stringIn(value))
		case "token_ids", "output_ids": // vLLM; LMDeploy
			d.Tokens += elementCount(value)
		case "finish_reason":
			d.setFinish(value)
		}
	})
	isEmpty := len(d.Text)+len(d.Reasoning) == 0 && d.Tokens == 0 && d.Finish == ""
	d.Role = hasRole && isEmpty
}

// setFinish sets the finish reason that the value of a key gives, if it gives one.
func (d *Delta) setFinish(value []byte) { d.setReason(finishReason(value)) }

// setReason sets the finish reason, unless it is empty. A long reason is cut.
func (d *Delta) setReason(reason []byte) {
	const longest = 40 // bytes
	if len(reason) > 0 {
		start := reason[:min(longest, len(reason))]
		d.Finish = strings.ToValidUTF8(string(start), "")
	}
}

// addMessage adds the text and the reasoning of a message, or of a part of one. Servers write the same reasoning under
// several keys: a text is taken if there is one, else what is nested in lists.
func (d *Delta) addMessage(message []byte) {
	var reasoning, nested []byte
	eachField(message, func(key, value []byte) {
		switch string(key) {
		case "content":
			var visible []byte
			visible, nested = contentIn(value)
			d.Text = appendText(d.Text, visible)
		case "reasoning", "reasoning_content", "thinking": // the last one is Ollama's
			if len(reasoning) == 0 {
				reasoning = stringIn(value)
			}
		case "reasoning_details": // OpenRouter
			details, _ := contentIn(value)
			nested = appendText(nested, details)
		case "refusal":
			refusal := stringIn(value)
			d.Text = appendText(d.Text, refusal)
			d.Refusal = d.Refusal || len(refusal) > 0
		case "tool_calls":
			eachElement(value, func(call []byte) { d.addCall(memberOf(call, "function")) })
		case "function_call":
			d.addCall(value)
		}
	})
	if len(reasoning) == 0 {
		reasoning = nested
	}
	d.Reasoning = appendText(d.Reasoning, reasoning)
}

// addCall adds the text of a function call.
func (d *Delta) addCall(function []byte) {
	eachField(function, func(key, value []byte) {
		if string(key) == "name" || string(key) == "arguments" {
			d.Text = appendText(d.Text, stringIn(value))
		}
	})
}

// contentIn returns the texts in a content: a string, or a list of parts. Mistral puts its thinking into the list.
func contentIn(value []byte) (visible, thinking []byte) {
	visible = stringIn(value)
	if visible != nil {
		return visible, nil
	}
	eachElement(value, func(part []byte) {
		eachField(part, func(key, value []byte) {
			switch string(key) {
			case "text", "summary":
				visible = appendText(visible, stringIn(value))
			case "thinking":
				nested, _ := contentIn(value)
				thinking = appendText(thinking, nested)
			}
		})
	})
	return visible, thinking
}

// timings returns llama-server's own counts. The length of the prompt is the tokens evaluated now and those found in
// the cache.
func timings(value []byte) Usage {
	u := Usage{Cached: countAt(value, "cache_n"), Output: countAt(value, "predicted_n")}
	evaluated := countAt(value, "prompt_n")
	if evaluated.Known && u.Cached.Known {
		u.Prompt = Tokens(min(maxCount, evaluated.N+u.Cached.N))
	}
	return u
}
