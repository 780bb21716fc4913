package wire

import "maps"

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

// readResponse reads an event of the Responses API.
func readResponse(frame []byte) Delta {
	var d Delta
	event := stringIn(memberOf(frame, "type"))
	switch string(event) {
	case "response.output_text.delta", "response.function_call_arguments.delta",
		"response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta",
		"response.code_interpreter_call_code.delta":
		d.Choice = true
		d.Text = stringIn(memberOf(frame, "delta"))
	case "response.refusal.delta":
		d.Choice = true
		d.Text = stringIn(memberOf(frame, "delta"))
		d.Refusal = len(d.Text) > 0
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		d.Choice = true
		d.Reasoning = stringIn(memberOf(frame, "delta"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		d.End = true
		d.addResponse(memberOf(frame, "response"), event[len("response."):])
	}
	return d
}

// addResponse adds what the last event says about the whole answer. The status is believed more than the event: vLLM
// calls every answer completed.
func (d *Delta) addResponse(response, event []byte) {
	failure := memberOf(response, "error")
	if isSet(failure) {
		d.Err = readError(failure, 0)
	}
	eachField(memberOf(response, "usage"), d.Usage.add)
	d.setReason(event)
	d.setFinish(memberOf(response, "status"))
	if d.Finish == "incomplete" {
		d.setFinish(memberOf(memberOf(response, "incomplete_details"), "reason"))
	}
}
