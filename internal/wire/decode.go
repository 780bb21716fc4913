package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// Decode reads the data of one frame: a JSON object, the end marker, an error in plain words, or nothing, which keeps a
// connection awake. An error that the server reported is in [Delta.Err]. The returned error means that the frame is not
// understood: it wraps [ErrMalformed].
func (d *Dialect) Decode(data []byte) (Delta, error) {
	data = bytes.TrimSpace(data)
	switch string(data) {
	case "", "null", `""`, "[]", "{}":
		return Delta{}, nil
	}
	switch {
	case bytes.HasPrefix(data, []byte("[DONE]")): // of OpenAI's APIs, and of gateways that add it to others
		return Delta{End: true}, nil
	case data[0] == '{' && json.Valid(data):
		return d.decodeObject(data), nil
	}
	lastLine := data[bytes.LastIndexByte(data, '\n')+1:] // a gateway that gives up within a frame goes on there
	failure := cmp.Or(ParseError(data), ParseError(lastLine))
	if failure == nil && (isProxyError(data) || IsPage(data)) {
		failure = &ServerError{Message: Describe(data, "")}
	}
	if failure != nil {
		return Delta{Err: failure}, nil
	}
	words := ""
	if bytes.HasPrefix(data, []byte("data:")) {
		words = `, but begin with another "data:": something frames the stream twice`
	}
	if ParseWords(data) != nil || awakeWords.Match(data) {
		words = ": " + Describe(data, "")
	}
	return Delta{}, fmt.Errorf("%w: %d bytes that are not a JSON object%s", ErrMalformed, len(data), words)
}

// decodeObject reads a frame that is a JSON object. A frame with tokens is no error, unless it says that the answer
// failed.
func (d *Dialect) decodeObject(data []byte) Delta {
	delta := d.read(data)
	mayBeError := !delta.hasText() || EndingOf(delta.Finish) == Failed
	if delta.Err == nil && mayBeError {
		delta.Err = ParseError(data)
	}
	saysNothing := !delta.Choice && !delta.End && delta.Finish == "" && delta.Usage == (Usage{})
	if delta.Err == nil && saysNothing {
		delta.Said = messageAlone(data)
	}
	return delta
}

// Typed returns the data of an event with the event's name as their type, if the dialect's frames have types and these
// data have none: the clients of Anthropic read it from either.
func (d *Dialect) Typed(event string, data []byte) []byte {
	usual := bytes.HasPrefix(data, []byte(`{"type":`))
	if !d.named || event == "" || usual || !json.Valid(data) {
		return data
	}
	fields, isObject := bytes.CutPrefix(bytes.TrimSpace(data), []byte("{"))
	if !isObject || memberOf(data, "type") != nil {
		return data
	}
	name, _ := json.Marshal(event) // a string always becomes JSON
	typed := append([]byte(`{"type":`), name...)
	fields = bytes.TrimSpace(fields)
	if fields[0] != '}' {
		typed = append(typed, ',')
	}
	return append(typed, fields...)
}
