package wire

import "maps"

// responses is OpenAI's /v1/responses. vLLM serves it as well, with salt and priority, without ignore_eos and min_tokens.
var responses = &Dialect{
	Name: "openai-responses", Path: v1("/responses"), read: readResponse,
	Fields: []Field{FieldCacheSalt, FieldPriority, FieldTemperature, fieldStore},
	body: func(a Ask) body {
		b := openAIBody(a)
		b["max_output_tokens"] = a.MaxTokens
		maps.Copy(b, inputBody(a))
		return b
	},
	tokenizer: func(s Server) Tokenizer { // the server type's own where it has one for conversations, else the API's
		if t := s.chatTokenizer(); t.Path != "" && s.Tokenize != nil {
			return t
		}
		if s.Estimates {
			return Tokenizer{}
		}
		return Tokenizer{Path: s.Prefix + "/v1/responses/input_tokens", body: inputBody}
	},
}

// inputBody is the conversation of a: a text if it is the question alone.
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

func readResponse(frame []byte) (d Delta) {
	event := textIn(member(frame, "type"))
	switch string(event) {
	case "response.output_text.delta", "response.function_call_arguments.delta",
		"response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta",
		"response.code_interpreter_call_code.delta":
		d.Choice, d.Text = true, textIn(member(frame, "delta"))
	case "response.refusal.delta":
		d.Choice, d.Text = true, textIn(member(frame, "delta"))
		d.Refusal = len(d.Text) > 0
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		d.Choice, d.Reasoning = true, textIn(member(frame, "delta"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		d.addResponse(member(frame, "response"), event[len("response."):])
	}
	return d
}

// addResponse adds what the last event says of the whole answer. vLLM calls it completed although the status is another.
func (d *Delta) addResponse(response, event []byte) {
	if failure := member(response, "error"); present(failure) {
		d.Err = nested(failure, "")
	}
	fields(member(response, "usage"), d.Usage.add)
	d.finish(event)
	d.finish(textIn(member(response, "status")))
	if d.Finish == "incomplete" {
		d.finish(textIn(member(member(response, "incomplete_details"), "reason")))
	}
}
