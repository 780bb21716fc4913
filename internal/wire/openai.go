package wire

import (
	"bytes"
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
		case "model":
			d.Model = stringIn(value)
		case "usage", "usage_metadata", "usageMetadata": // the last two are Gemini's, which some gateways pass on
			eachField(value, d.Usage.add)
		case "x_groq": // Groq has usage here, in its last frame, or why it stopped the stream
			eachField(memberOf(value, "usage"), d.Usage.add)
			d.Err = readError(memberOf(value, "error"), 0)
		case "timings": // llama-server, in its last frame
			d.Usage = d.Usage.Merge(timings(value))
		}
	})
	return d
}

// addChoice adds a choice of a chunk.
func (d *Delta) addChoice(choice []byte) {
	d.Choice = true
	hasRole, hasDelta := false, false
	var thought, message []byte
	eachField(choice, func(key, value []byte) {
		switch string(key) {
		case "delta":
			hasRole = memberOf(value, "role") != nil
			hasDelta = isSet(value)
			d.addMessage(value)
		case "message": // of a request without streaming, which some proxies send as one event
			message = value
		case "text": // completions
			d.Text = appendText(d.Text, stringIn(value))
		case "reasoning", "reasoning_content": // completions of OpenRouter
			thought = firstText(thought, value)
		case "usage": // Moonshot
			eachField(value, d.Usage.add)
		case "token_ids", "output_ids": // vLLM; LMDeploy
			d.Tokens += elementCount(value)
		case "finish_reason":
			d.setFinish(value)
		}
	})
	if !hasDelta && isSet(message) {
		d.addMessage(message)
		d.Unstreamed = true
	}
	if len(d.Reasoning) == 0 {
		d.Reasoning = thought
	}
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

// addMessage adds the text and the reasoning of a message. Servers write the same reasoning under several keys: the
// first that has some counts, and lists of parts only where no key has a text.
func (d *Delta) addMessage(message []byte) {
	var visible, reasoning, inContent, inDetails []byte
	isThought := false
	eachField(message, func(key, value []byte) {
		switch string(key) {
		case "content":
			visible, inContent = contentIn(value, 0)
		case "reasoning", "reasoning_content", "reasoning_text", "reasoning_summary", "reasoningContent",
			"thinking", "thinking_content", "thought", "thoughts":
			reasoning = firstText(reasoning, value)
			isThought = isThought || string(key) == "thought" && string(value) == "true"
		case "reasoning_details", "thinking_blocks", "reasoning_steps": // OpenRouter; LiteLLM; Perplexity
			inDetails = firstText(inDetails, value)
		case "extra_content": // Gemini: {"google":{"thought":true}}
			isThought = isThought || string(memberOf(memberOf(value, "google"), "thought")) == "true"
		case "refusal":
			refusal := stringIn(value)
			d.Text = appendText(d.Text, refusal)
			d.Refusal = d.Refusal || len(refusal) > 0
		case "tool_calls":
			eachElement(value, func(call []byte) {
				d.addCall(memberOf(call, "function"))
				d.addCall(memberOf(call, "custom"))
			})
		case "function_call":
			d.addCall(value)
		case "usage":
			eachField(value, d.Usage.add)
		}
	})
	if isThought {
		visible, inContent = nil, appendText(visible, inContent)
	}
	d.Text = appendText(d.Text, visible)
	for _, found := range [][]byte{inContent, inDetails} {
		if len(reasoning) == 0 {
			reasoning = found
		}
	}
	d.Reasoning = appendText(d.Reasoning, reasoning)
}

// firstText returns a text, or all texts in a value if the text is empty.
func firstText(text, value []byte) []byte {
	if len(text) > 0 {
		return text
	}
	visible, thinking := contentIn(value, 0)
	return appendText(visible, thinking)
}

// addCall adds the text of a function call.
func (d *Delta) addCall(function []byte) {
	eachField(function, func(key, value []byte) {
		switch string(key) {
		case "name", "arguments", "input": // the last one is a custom tool's
			d.Text = appendText(d.Text, stringIn(value))
		}
	})
}

// contentIn returns the texts in a content: a string, a part, or a list of these. Thinking may be nested in it:
//
//	{"type":"thinking","thinking":[{"type":"text","text":…}]}    Mistral
//	{"type":"reasoning","summary":[{"type":"summary_text","text":…}]}    Databricks
//	{"text":…,"thought":true}    Gemini
//	{"reasoningContent":{"reasoningText":{"text":…}}}    Amazon Bedrock
//
// What is nested deeper than any server nests it is ignored: each level is read once more.
func contentIn(value []byte, depth int) (visible, thinking []byte) {
	const deepest = 6
	if len(value) == 0 || depth > deepest {
		return nil, nil
	}
	if value[0] == '"' {
		return stringIn(value), nil
	}
	eachElement(value, func(part []byte) {
		text, thought := contentIn(part, depth+1)
		visible = appendText(visible, text)
		thinking = appendText(thinking, thought)
	})
	isThought := false
	eachField(value, func(key, value []byte) {
		switch string(key) {
		case "type":
			isThought = isThought || isThoughtType(stringIn(value))
		case "text", "content":
			text, thought := contentIn(value, depth+1)
			visible = appendText(visible, text)
			thinking = appendText(thinking, thought)
		case "summary", "thinking", "reasoning", "reasoning_content", "reasoningContent", "reasoningText", "think",
			"thought":
			text, thought := contentIn(value, depth+1)
			thinking = appendText(appendText(thinking, text), thought)
			isThought = isThought || string(key) == "thought" && string(value) == "true"
		}
	})
	if isThought {
		return nil, appendText(visible, thinking)
	}
	return visible, thinking
}

// isThoughtType reports whether the type of a part is that of reasoning.
func isThoughtType(name []byte) bool {
	return bytes.HasPrefix(name, []byte("reasoning")) || bytes.HasPrefix(name, []byte("think")) ||
		bytes.HasPrefix(name, []byte("thought"))
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
