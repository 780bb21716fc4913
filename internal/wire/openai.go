package wire

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/tidwall/gjson"
)

// chat is OpenAI's /v1/chat/completions, as vLLM, SGLang, TGI, llama-server and most providers serve it.
var chat = &Dialect{
	Name:      "openai-chat",
	Operation: "chat",
	Provider:  "openai",
	Path:      v1Path("/chat/completions"),
	Fields:    append(slices.Clone(extensions), FieldMaxTokens, FieldMaxCompletionTokens),
	Forms:     true,
	body:      chatBody,
	keys:      streamOptions,
	read:      readChunk,
	tokenizer: Server.chatTokenizer,
}

// completions is OpenAI's older /v1/completions: a prompt without a chat template.
var completions = &Dialect{
	Name:      "openai-completions",
	Operation: "text_completion",
	Provider:  "openai",
	Path:      v1Path("/completions"),
	Fields:    extensions,
	body:      completionBody,
	keys:      streamOptions,
	read:      readChunk,
	tokenizer: Server.promptTokenizer,
}

// azure is Azure's own path to chat completions, where the model is a deployment. Azure's newer path, /openai/v1, is
// that of [chat].
var azure = &Dialect{
	Name:      "azure-openai",
	Operation: "chat",
	Provider:  "azure.ai.openai",
	Path:      deploymentPath,
	Fields:    []Field{FieldStreamOptions, FieldSeed, FieldTemperature, FieldMaxTokens},
	Forms:     true,
	body:      chatBody,
	keys:      streamOptions,
	read:      readChunk,
	keyHeader: "api-key",
}

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
	b := streamBody(a)
	b["messages"] = a.conversation()
	a.Form.addTo(b, a.Server)
	if a.Omits(FieldMaxTokens) {
		b["max_completion_tokens"] = a.MaxTokens
	}
	return b
}

func completionBody(a Ask) body {
	b := streamBody(a)
	b["prompt"] = a.text()
	b["max_tokens"] = a.MaxTokens
	return b
}

// streamBody returns what the requests of OpenAI's and Anthropic's APIs have in common: the model, and the fields that
// a server type wants in each.
func streamBody(a Ask) body {
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
		case "id":
			d.ID = value.Str
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
