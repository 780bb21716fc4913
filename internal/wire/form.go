package wire

import (
	"encoding/json"
	"errors"

	"github.com/tidwall/gjson"
)

// A Form is JSON that an answer must be: the arguments of a call of a function, or the whole text. It is only read.
type Form struct {
	IsCall bool            // else the text
	Name   string          // of the function, or of the schema
	About  string          // what the function is for, as the model reads it
	Schema json.RawMessage // JSON Schema, in the strict subset that OpenAI accepts
}

// ErrNoForm says that the prober cannot ask for a [Form] by an API.
var ErrNoForm = errors.New("the prober asks for tool calls and for JSON by openai-chat and azure-openai only")

// tools returns the functions that the answer can call; nil if it is to be no call.
func (f *Form) tools() []body {
	if f == nil || !f.IsCall {
		return nil
	}
	return []body{{"type": "function", "function": body{
		"name": f.Name, "description": f.About, "parameters": f.Schema,
		"strict": true, // without it, vLLM 0.32 accepts any JSON as the arguments of a call
	}}}
}

// addTo makes a request ask a server for f.
//
// There is one function, so that "required" forces the same call as naming it. Naming it is an object, which
// llama-server ignores (https://github.com/ggml-org/llama.cpp/issues/26535) and LM Studio refuses.
func (f *Form) addTo(b body, s Server) {
	switch {
	case f == nil:
	case f.IsCall:
		b["tools"] = f.tools()
		b["tool_choice"] = "required"
	case s.SchemaIn == schemaInObject:
		b["response_format"] = body{"type": "json_object", "schema": f.Schema}
	case s.SchemaIn == schemaInValue:
		b["response_format"] = body{"type": "json", "value": f.Schema}
	default:
		schema := body{"name": f.Name, "schema": f.Schema, "strict": true}
		b["response_format"] = body{"type": "json_schema", "json_schema": schema}
	}
}

// Where a server type takes a JSON Schema, if not as OpenAI does in response_format.json_schema. The fields guided_json
// and structured_outputs are no other place: each vLLM that has one of them takes response_format as well.
const (
	schemaInObject = "json_object" // response_format.schema, of the type json_object
	schemaInValue  = "json"        // response_format.value, of the type json
)

// A CallPiece is a part of a call of a function. The first piece of a call has its name.
type CallPiece struct {
	Index     int // of the call among those of the answer; 0 where the server does not say
	Name      string
	Arguments []byte // the next part of their JSON
}

// addCall adds a piece of a call, whose function is custom or not. Servers that write arguments as an object send all
// of them at once.
func (d *Delta) addCall(index, function gjson.Result) {
	if !function.IsObject() {
		return
	}
	piece := CallPiece{Index: int(index.Int())}
	for key, value := range fieldsOf(function) {
		text := value.Str
		if value.IsObject() {
			text = value.Raw
		}
		switch key {
		case "name":
			piece.Name = text
		case "arguments", "input": // the latter is a custom tool's
			piece.Arguments = append(piece.Arguments, text...)
		default:
			continue
		}
		d.addText(text)
	}
	d.Calls = append(d.Calls, piece)
}
