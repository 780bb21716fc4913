package wire

import (
	"bytes"
	"maps"
)

// responses is OpenAI's /v1/responses. vLLM serves it as well: it takes cache_salt and priority there, but not
// ignore_eos and min_tokens.
var responses = &Dialect{
	Name:      "openai-responses",
	Path:      v1Path("/responses"),
	Fields:    []Field{FieldCacheSalt, FieldPriority, FieldTemperature, fieldStore},
	body:      responseBody,
	read:      readResponse,
	tokenizer: Server.responseTokenizer,
}

// responseBody returns the request of an answer.
func responseBody(a Ask) body {
	b := openAIBody(a)
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

// responseTokenizer returns the server type's own route for conversations if it has one, else the route of the API. A
// server of unknown type is not asked as vLLM is.
func (s Server) responseTokenizer() Tokenizer {
	own := s.chatTokenizer()
	if own.Path != "" && s.Tokenize != nil {
		return own
	}
	if s.Estimates {
		return Tokenizer{}
	}
	return Tokenizer{Path: s.Prefix + "/v1/responses/input_tokens", body: inputBody}
}

// readResponse reads an event of the Responses API. Each event that adds to the answer is called delta: of a text, of
// reasoning or its summary, of a call's arguments. Servers have some of their own.
func readResponse(frame []byte) Delta {
	var d Delta
	event, isOfAnswer := bytes.CutPrefix(stringIn(memberOf(frame, "type")), []byte("response."))
	kind, isDelta := bytes.CutSuffix(event, []byte(".delta"))
	isSound := bytes.HasPrefix(kind, []byte("audio")) || bytes.HasPrefix(kind, []byte("output_audio"))
	switch {
	case !isOfAnswer, !isDelta, isSound:
	case bytes.HasPrefix(kind, []byte("reasoning")):
		d.Choice = true
		d.Reasoning = firstText(nil, memberOf(frame, "delta"))
	default:
		d.Choice = true
		d.Text = firstText(nil, memberOf(frame, "delta"))
		d.Refusal = string(kind) == "refusal" && len(d.Text) > 0
	}
	switch string(event) {
	case "output_text.done", "refusal.done", "function_call_arguments.done":
		d.repeatPart(frame)
	case "output_item.done":
		d.repeatItem(memberOf(frame, "item"))
	case "completed", "incomplete", "failed", "cancelled":
		d.End = true
		d.addResponse(memberOf(frame, "response"), event)
	}
	return d
}

// repeatPart adds the text of a part of the answer that is done, which a gateway may send without the pieces before it.
func (d *Delta) repeatPart(part []byte) {
	refusal := stringIn(memberOf(part, "refusal"))
	d.Refusal = d.Refusal || len(refusal) > 0
	for _, text := range [][]byte{stringIn(memberOf(part, "text")), refusal, stringIn(memberOf(part, "arguments"))} {
		d.Repeated = appendText(d.Repeated, text)
	}
}

// repeatItem adds the texts of an item that is done: those of a message's parts, or the arguments of a call.
func (d *Delta) repeatItem(item []byte) {
	switch string(stringIn(memberOf(item, "type"))) {
	case "message":
		eachElement(memberOf(item, "content"), d.repeatPart)
	case "function_call":
		d.repeatPart(item)
	}
}

// addResponse adds what the last event says about the whole answer. The status is believed more than the event: vLLM
// calls every answer completed.
func (d *Delta) addResponse(response, event []byte) {
	failure := memberOf(response, "error")
	if !isEmptyValue(failure) {
		d.Err = readError(failure, 0)
	}
	eachElement(memberOf(response, "output"), d.repeatItem)
	d.Model = stringIn(memberOf(response, "model"))
	eachField(memberOf(response, "usage"), d.Usage.add)
	d.setReason(event)
	d.setFinish(memberOf(response, "status"))
	if d.Finish == "incomplete" {
		d.setFinish(memberOf(memberOf(response, "incomplete_details"), "reason"))
	}
}
