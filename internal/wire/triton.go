package wire

import "net/url"

// triton is the generate extension of NVIDIA's Triton Inference Server (see servers.yaml). One request serves the models of
// TensorRT-LLM and the vLLM backend, which takes "parameters" for sampling parameters: only those that vLLM knows.
var triton = &Dialect{
	Name: "triton", read: readTriton,
	Path: func(a Ask) string {
		path := "/v2/models/" + url.PathEscape(a.Model)
		if a.Version != "" {
			path += "/versions/" + url.PathEscape(a.Version)
		}
		return path + "/generate_stream"
	},
	Fields: []Field{
		FieldMinTokens, FieldIgnoreEOS, FieldTemperature,
		fieldExcludeInput, fieldFinishReason, fieldInputTokens, fieldOutputTokens,
	},
	inside: "parameters.",
	body: func(a Ask) body {
		return body{"text_input": a.text(), "parameters": body{"stream": true, "max_tokens": a.MaxTokens}}
	},
	Endless: true, // only the vLLM backend tells why it ended
}

func readTriton(frame []byte) (d Delta) {
	fields(frame, func(key, value []byte) {
		if list := first(value); list != nil { // a tensor of one element is that element, or a list of it
			value = list
		}
		switch string(key) {
		case "text_output":
			d.Choice, d.Text = true, textIn(value)
		case "num_output_tokens":
			d.Tokens = countIn(value).N
		case "num_input_tokens":
			d.Usage.Prompt = countIn(value)
		case "finish_reason": // Python's None until the end
			if reason := textIn(value); string(reason) != "None" {
				d.finish(reason)
			}
		}
	})
	return d
}
