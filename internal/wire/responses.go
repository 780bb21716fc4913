package wire

import (
	"maps"
	"strings"

	"github.com/tidwall/gjson"
)

// responses is OpenAI's /v1/responses. vLLM serves it as well: it takes cache_salt and priority there, but not
// ignore_eos and min_tokens.
var responses = &Dialect{
	Name:      "openai-responses",
	Operation: "chat",
	Provider:  "openai",
	Path:      v1Path("/responses"),
	Fields:    []Field{FieldCacheSalt, FieldPriority, FieldTemperature, fieldStore},
	body:      responseBody,
	read:      readResponse,
	tokenizer: Server.responseTokenizer,
}

func responseBody(a Ask) body {
	b := streamBody(a)
	b["max_output_tokens"] = a.MaxTokens
	maps.Copy(b, inputBody(a))
	return b
}

// inputBody returns the conversation of a: a text if it is the question alone.
func inputBody(a Ask) body {
	b := body{"input": a.Prompt}
	if len(a.Turns) > 0 {
		b["input"] = a.conversation()
	}
	if a.Model != "" {
		b["model"] = a.Model
	}
	return b
}

// responseTokenizer returns the server type's own route for conversations if it has one. Otherwise it returns the route
// of the API, unless the server only guesses there. A server of unknown type is not asked as vLLM is.
func (s Server) responseTokenizer() Tokenizer {
	switch {
	case s.tokenizers != nil && s.tokenizers.chat.Path != "":
		return s.tokenizers.chat
	case s.Estimates:
		return Tokenizer{}
	}
	// https://platform.openai.com/docs/api-reference/responses/input-tokens
	return Tokenizer{
		Path:   s.Prefix + "/v1/responses/input_tokens",
		body:   inputBody,
		counts: []string{"instructions", "reasoning", "text", "tools", "tool_choice"},
	}
}

// readResponse reads an event of the Responses API. Each event that adds to the answer is called delta: of a text, of
// reasoning or its summary, of a call's arguments. Servers have some of their own.
func readResponse(frame gjson.Result) Delta {
	var d Delta
	event, isOfAnswer := strings.CutPrefix(member(frame, "type").Str, "response.")
	if !isOfAnswer {
		return d
	}
	kind, isDelta := strings.CutSuffix(event, ".delta")
	isSound := strings.HasPrefix(kind, "audio") || strings.HasPrefix(kind, "output_audio")
	switch {
	case isDelta && isSound:
	case isDelta && strings.HasPrefix(kind, "reasoning"):
		d.Choice = true
		d.Reasoning = allText(member(frame, "delta"))
	case isDelta:
		d.Choice = true
		d.Text = allText(member(frame, "delta"))
		d.Refusal = kind == "refusal" && len(d.Text) > 0
	case event == "output_text.done", event == "refusal.done", event == "function_call_arguments.done":
		d.repeatPart(frame)
	case event == "output_item.done":
		d.repeatItem(member(frame, "item"))
	case event == "completed", event == "incomplete", event == "failed", event == "cancelled":
		d.End = true
		d.addResponse(member(frame, "response"), event)
	case event == "created":
		d.ID = member(frame, "response", "id").Str
	}
	return d
}

// repeatPart adds the text of a part of the answer that is done, which a gateway may send without the pieces before it.
func (d *Delta) repeatPart(part gjson.Result) {
	refusal := member(part, "refusal").Str
	d.Refusal = d.Refusal || refusal != ""
	d.RepeatedText = append(d.RepeatedText, member(part, "text").Str...)
	d.RepeatedText = append(d.RepeatedText, refusal...)
	d.RepeatedText = append(d.RepeatedText, member(part, "arguments").Str...)
}

// repeatItem adds the texts of an item that is done: those of a message's parts, or the arguments of a call.
func (d *Delta) repeatItem(item gjson.Result) {
	switch member(item, "type").Str {
	case "message":
		for part := range elementsOf(member(item, "content")) {
			d.repeatPart(part)
		}
	case "function_call":
		d.repeatPart(item)
	}
}

// addResponse adds what the last event says about the whole answer. The status is believed more than the event: vLLM
// calls every answer completed.
func (d *Delta) addResponse(response gjson.Result, event string) {
	failure := member(response, "error")
	if !isEmptyValue(failure) {
		d.Err = readError(failure, 0)
	}
	for item := range elementsOf(member(response, "output")) {
		d.repeatItem(item)
	}
	d.ID = member(response, "id").Str
	d.Model = member(response, "model").Str
	d.Usage.addAll(member(response, "usage"))
	d.setReason(event)
	d.setFinish(member(response, "status"))
	if d.Finish == "incomplete" {
		d.setFinish(member(response, "incomplete_details", "reason"))
	}
}
