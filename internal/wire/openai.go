package wire

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
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
func readChunk(frame gjson.Result) Delta {
	var d Delta
	for key, value := range fieldsOf(frame) {
		switch key {
		case "choices":
			for choice := range elementsOf(value) {
				d.addChoice(choice)
			}
		case "model":
			d.Model = value.Str
		case "usage", "usage_metadata", "usageMetadata": // the last two are Gemini's, which some gateways pass on
			d.Usage.addAll(value)
		case "x_groq": // Groq has usage here, in its last frame, or why it stopped the stream
			d.Usage.addAll(member(value, "usage"))
			d.Err = readError(member(value, "error"), 0)
		case "timings": // llama-server, in its last frame
			d.Usage = d.Usage.Merge(timings(value))
		}
	}
	return d
}

// addChoice adds a choice of a chunk.
func (d *Delta) addChoice(choice gjson.Result) {
	d.Choice = true
	var delta, message gjson.Result
	var thought []byte
	for key, value := range fieldsOf(choice) {
		switch key {
		case "delta":
			delta = value
			d.addMessage(value)
		case "message": // of a request without streaming, which some proxies send as one event
			message = value
		case "text": // completions
			d.addText(value.Str)
		case "reasoning", "reasoning_content": // completions of OpenRouter
			if len(thought) == 0 {
				thought = allText(value)
			}
		case "usage": // Moonshot
			d.Usage.addAll(value)
		case "token_ids", "output_ids": // vLLM; LMDeploy
			d.Tokens += elementCount(value)
		case "finish_reason":
			d.setFinish(value)
		}
	}
	if delta.Type == gjson.Null && message.Type != gjson.Null {
		d.addMessage(message)
		d.NotStreamed = true
	}
	if len(d.Reasoning) == 0 {
		d.Reasoning = thought
	}
	d.RoleOnly = member(delta, "role").Exists() && !d.showsTokens() && d.Finish == ""
}

// addText appends a text to that of the frame.
func (d *Delta) addText(text string) { d.Text = append(d.Text, text...) }

// addReasoning appends a text to the reasoning of the frame.
func (d *Delta) addReasoning(text string) { d.Reasoning = append(d.Reasoning, text...) }

// setFinish sets the finish reason that the value of a key gives, if it gives one.
func (d *Delta) setFinish(value gjson.Result) { d.setReason(finishReason(value)) }

// setReason sets the finish reason, unless it is empty. A long reason is cut.
func (d *Delta) setReason(reason string) {
	const longest = 40 // bytes
	if reason != "" {
		d.Finish = strings.ToValidUTF8(reason[:min(longest, len(reason))], "")
	}
}

// addMessage adds the text and the reasoning of a message. Servers write the same reasoning under several keys: the
// first that has some counts, and lists of parts only where no key has a text.
func (d *Delta) addMessage(message gjson.Result) {
	var visible, reasoning, inContent, inDetails []byte
	isThought := false
	for key, value := range fieldsOf(message) {
		switch key {
		case "content":
			visible, inContent = contentIn(value, 0)
		case "reasoning", "reasoning_content", "reasoning_text", "reasoning_summary", "reasoningContent",
			"thinking", "thinking_content", "thought", "thoughts":
			if len(reasoning) == 0 {
				reasoning = allText(value)
			}
			isThought = isThought || key == "thought" && value.Type == gjson.True
		case "reasoning_details", "thinking_blocks", "reasoning_steps": // OpenRouter; LiteLLM; Perplexity
			if len(inDetails) == 0 {
				inDetails = allText(value)
			}
		case "extra_content": // Gemini: {"google":{"thought":true}}
			isThought = isThought || member(value, "google", "thought").Type == gjson.True
		case "refusal":
			d.addText(value.Str)
			d.Refusal = d.Refusal || value.Str != ""
		case "tool_calls":
			for call := range elementsOf(value) {
				d.addCall(member(call, "function"))
				d.addCall(member(call, "custom"))
			}
		case "function_call":
			d.addCall(value)
		case "usage":
			d.Usage.addAll(value)
		}
	}
	if isThought {
		inContent = append(visible, inContent...)
		visible = nil
	}
	d.Text = append(d.Text, visible...)
	switch {
	case len(reasoning) > 0:
		d.Reasoning = append(d.Reasoning, reasoning...)
	case len(inContent) > 0:
		d.Reasoning = append(d.Reasoning, inContent...)
	default:
		d.Reasoning = append(d.Reasoning, inDetails...)
	}
}

// addCall adds the text of a function call.
func (d *Delta) addCall(function gjson.Result) {
	for key, value := range fieldsOf(function) {
		switch key {
		case "name", "arguments", "input": // the last one is a custom tool's
			d.addText(value.Str)
		}
	}
}

// allText returns the visible texts in a content, and then those of thinking.
func allText(value gjson.Result) []byte {
	visible, thinking := contentIn(value, 0)
	return append(visible, thinking...)
}

// contentIn returns the texts in a content: a string, a part, or a list of these. Thinking may be nested in it:
//
//	{"type":"thinking","thinking":[{"type":"text","text":…}]}    Mistral
//	{"type":"reasoning","summary":[{"type":"summary_text","text":…}]}    Databricks
//	{"text":…,"thought":true}    Gemini
//	{"reasoningContent":{"reasoningText":{"text":…}}}    Amazon Bedrock
//
// What is nested deeper than any server nests it is ignored: each level is read once more.
func contentIn(value gjson.Result, depth int) (visible, thinking []byte) {
	const deepest = 6
	switch {
	case depth > deepest:
		return nil, nil
	case value.Type == gjson.String:
		return []byte(value.Str), nil
	}
	for part := range elementsOf(value) {
		text, thought := contentIn(part, depth+1)
		visible = append(visible, text...)
		thinking = append(thinking, thought...)
	}
	isThought := false
	for key, inner := range fieldsOf(value) {
		switch key {
		case "type":
			isThought = isThought || isThoughtType(inner.Str)
		case "text", "content":
			text, thought := contentIn(inner, depth+1)
			visible = append(visible, text...)
			thinking = append(thinking, thought...)
		case "summary", "thinking", "reasoning", "reasoning_content", "reasoningContent", "reasoningText", "think",
			"thought":
			text, thought := contentIn(inner, depth+1)
			thinking = append(thinking, text...)
			thinking = append(thinking, thought...)
			isThought = isThought || key == "thought" && inner.Type == gjson.True
		}
	}
	if isThought {
		return nil, append(visible, thinking...)
	}
	return visible, thinking
}

// isThoughtType reports whether the type of a part is that of reasoning.
func isThoughtType(name string) bool {
	return strings.HasPrefix(name, "reasoning") || strings.HasPrefix(name, "think") || strings.HasPrefix(name, "thought")
}

// timings returns llama-server's own counts. The length of the prompt is the tokens evaluated now and those found in
// the cache.
func timings(value gjson.Result) Usage {
	u := Usage{
		Cached: countIn(member(value, "cache_n")),
		Output: countIn(member(value, "predicted_n")),
	}
	evaluated := countIn(member(value, "prompt_n"))
	if evaluated.Known && u.Cached.Known {
		u.Prompt = Tokens(min(maxCount, evaluated.N+u.Cached.N))
	}
	return u
}
