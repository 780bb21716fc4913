package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
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
	if bytes.HasPrefix(data, []byte("[DONE]")) { // of OpenAI's APIs, and of gateways that add it to others
		return Delta{End: true}, nil
	}
	frame, _ := parseJSON(data)
	if frame.IsObject() {
		return d.decodeObject(frame), nil
	}

	// A gateway that gives up within a frame writes its error on a line of its own.
	lastLine := data[bytes.LastIndexByte(data, '\n')+1:]
	failure := cmp.Or(ParseError(data), ParseError(lastLine))
	if failure == nil && (isProxyError(data) || IsPage(data)) {
		failure = &ServerError{Message: Describe(data, "")}
	}
	if failure != nil {
		return Delta{Err: failure}, nil
	}

	more := ""
	isNoAnswer := ParseWords(data) != nil || awakeWords.Match(data)
	switch {
	case isNoAnswer:
		more = ": " + Describe(data, "")
	case bytes.HasPrefix(data, []byte("data:")):
		more = `, but begin with another "data:": something frames the stream twice`
	}
	return Delta{}, fmt.Errorf("%w: %d bytes that are not a JSON object%s", ErrMalformed, len(data), more)
}

// awakeWords matches the single words with which some servers keep a connection awake.
var awakeWords = regexp.MustCompile(`(?i)^(ping|pong|heartbeat|keep-?alive|ok|none|undefined|nan|processing)[.!]*$`)

// decodeObject reads a frame that is a JSON object. A frame with tokens is no error, unless it says that the answer
// failed.
func (d *Dialect) decodeObject(frame gjson.Result) Delta {
	delta := d.read(frame)
	mayBeError := !delta.showsTokens() || EndingOf(delta.Finish) == Failed
	if delta.Err == nil && mayBeError {
		delta.Err = findError(frame)
	}
	hasNothingElse := !delta.Choice && !delta.End && delta.Finish == "" && delta.Usage == (Usage{})
	if delta.Err == nil && hasNothingElse {
		delta.BareMessage = messageAlone(frame)
	}
	return delta
}

func (d *Delta) showsTokens() bool { return len(d.Text)+len(d.Reasoning) > 0 || d.Tokens > 0 }

// WithType returns the data of an event with the event's name as their type, if the dialect's frames have types and
// these data have none: the clients of Anthropic read it from either.
func (d *Dialect) WithType(event string, data []byte) []byte {
	hasType := bytes.HasPrefix(data, []byte(`{"type":`)) // the usual case, without reading all of it
	if !d.typeInEvent || event == "" || hasType {
		return data
	}
	object, _ := parseJSON(data)
	if !object.IsObject() || member(object, "type").Exists() {
		return data
	}
	name, _ := json.Marshal(event) // a string always becomes JSON
	fields := strings.TrimSpace(strings.TrimPrefix(object.Raw, "{"))
	comma := ","
	if fields == "}" {
		comma = ""
	}
	return fmt.Appendf(nil, `{"type":%s%s%s`, name, comma, fields)
}
