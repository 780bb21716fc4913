package wire

import (
	"net/url"

	"github.com/tidwall/gjson"
)

// triton is the generate extension of NVIDIA's Triton Inference Server (its source is in servers.yaml). The same
// request serves models of TensorRT-LLM and of the vLLM backend. The vLLM backend takes "parameters" for its sampling
// parameters, and refuses those that vLLM does not know.
var triton = &Dialect{
	Name:      "triton",
	Operation: "text_completion",
	Provider:  "triton",
	Path:      tritonPath,
	Fields: []Field{
		FieldMinTokens, FieldIgnoreEOS, FieldTemperature,
		fieldExcludeInput, fieldFinishReason, fieldInputTokens, fieldOutputTokens,
	},
	FinishOptional: true, // only the vLLM backend says why an answer ended
	body:           tritonBody,
	fieldsIn:       "parameters.",
	read:           readTriton,
}

func tritonPath(a Ask) string {
	path := "/v2/models/" + url.PathEscape(a.Model)
	if a.Version != "" {
		path += "/versions/" + url.PathEscape(a.Version)
	}
	return path + "/generate_stream"
}

func tritonBody(a Ask) body {
	return body{
		"text_input": a.text(),
		"parameters": body{"stream": true, "max_tokens": a.MaxTokens},
	}
}

func readTriton(frame gjson.Result) Delta {
	var d Delta
	for key, value := range fieldsOf(frame) {
		if value.IsArray() { // a tensor of one element is the element itself, or a list of it
			value = firstElement(value)
		}
		switch key {
		case "id": // only if the request has one
			d.ID = value.Str
		case "model_name":
			d.Model = value.Str
		case "text_output":
			d.Choice = true
			d.addText(value.Str)
		case "num_output_tokens":
			d.Tokens = countIn(value).N
		case "num_input_tokens":
			d.Usage.Prompt = countIn(value)
		case "finish_reason":
			d.setFinish(value)
		}
	}
	d.End = d.Finish != ""
	return d
}
