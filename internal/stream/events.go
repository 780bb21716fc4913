package stream

import (
	"bytes"
	"encoding/json"
	"io"
)

// events puts lines together to server-sent events: see [NewSSE].
type events struct {
	name    []byte     // the pending event's name
	data    []byte     // its data
	hasData bool       // it has a data field
	extent  jsonExtent // of its data
	bare    bool       // its data stood outside of any field
	dataEnd Arrival    // of its last data line
	size    int        // bytes of its lines so far

	nextName    []byte // a name that came after whole data: that of the next event if data follow it
	hasNextName bool
	returned    []byte // memory of the last event, which is used again

	hadEvent  bool   // there was an event
	jsonFirst bool   // a JSON text outside of any field came before that
	unfielded []byte // lines that belong to no field
}

// add takes a line and its arrival. It returns the event that the line completes: the pending one, if the line is blank
// or begins another, or the line itself: see [events.addBare].
func (e *events) add(line []byte, arrival Arrival) (Frame, bool) {
	if len(line) == 0 {
		e.takeNextName()
		return e.dispatch(arrival)
	}
	isJSON := beginsAsJSON(line) && json.Valid(line)
	if isJSON && (!e.hasData || e.dataAreWhole()) {
		return e.addBare(line, arrival)
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	isNew := string(name) == "data" && e.startsNewEvent(value)
	var before Frame
	if isNew {
		before, _ = e.dispatch(e.dataEnd)
		e.takeNextName()
	}
	e.size += len(line)
	switch string(name) {
	case "":
		e.addComment(value)
	case "data":
		e.addData(value, arrival)
	case "event":
		e.addName(value)
	case "id", "retry":
	default:
		e.unfielded = appendBounded(e.unfielded, line)
	}
	return before, isNew
}

// addBare takes a line that is a JSON text outside of any field: an error in place of an event, or a line of a body
// that is no event stream in spite of its type. It is an event of its own, and returned at once. But if an event is
// pending, which is whole then, that one is returned, and the line waits as the next.
func (e *events) addBare(line []byte, arrival Arrival) (Frame, bool) {
	if !e.hasData {
		e.jsonFirst = e.jsonFirst || !e.hadEvent
		e.addData(line, arrival)
		e.bare = true
		return e.dispatch(arrival)
	}
	before, _ := e.dispatch(e.dataEnd)
	e.takeNextName()
	e.addData(line, arrival)
	e.bare = true
	e.size = len(line)
	return before, true
}

// addComment takes a comment. One before any data does not count towards the size of a frame, so that a server may keep
// a connection awake for ever. Dynamo writes the text of an error into such a comment.
func (e *events) addComment(text []byte) {
	if e.hasData {
		return
	}
	if string(e.name) == "error" {
		e.data = append(e.data[:0], text...)
	}
	e.size = 0
}

func (e *events) addData(value []byte, arrival Arrival) {
	if e.hasData {
		e.data = append(e.data, '\n')
	} else {
		e.data = e.data[:0]
	}
	e.data = append(e.data, value...)
	e.hasData = true
	e.dataEnd = arrival
}

// addName takes a name. After whole data it may be that of this event or of the next: the next line shows which.
func (e *events) addName(name []byte) {
	if e.hasData && e.dataAreWhole() {
		e.nextName = append(e.nextName[:0], name...)
		e.hasNextName = true
		return
	}
	e.name = append(e.name[:0], name...)
}

// takeNextName gives the pending event the name that came after whole data.
func (e *events) takeNextName() {
	if e.hasNextName {
		e.name = append(e.name[:0], e.nextName...)
		e.hasNextName = false
	}
}

// dispatch returns the pending event, if it has data or is an error, and begins the next one.
func (e *events) dispatch(arrival Arrival) (Frame, bool) {
	f := Frame{Event: string(e.name), Data: e.data, Bare: e.bare, Arrival: arrival}
	ok := e.hasData || f.Event == "error"
	e.hadEvent = e.hadEvent || ok
	e.data, e.returned = e.returned[:0], e.data
	e.name = e.name[:0]
	e.hasData = false
	e.bare = false
	e.extent = jsonExtent{}
	e.size = 0
	return f, ok
}

// end returns the event that the body left without a blank line. JSON that is not whole is not an event: the error is
// then [io.ErrUnexpectedEOF].
func (e *events) end() (Frame, bool, error) {
	e.takeNextName()
	if e.hasData && beginsAsJSON(e.data) && !isWhole(e.data) {
		return Frame{}, false, io.ErrUnexpectedEOF
	}
	f, ok := e.dispatch(e.dataEnd)
	return f, ok, nil
}

// startsNewEvent reports whether a line of data begins a new event although no blank line came before: the pending data
// are a JSON value, or [DONE], and either the line begins as JSON or a name came before it. A JSON text over several
// lines stays one event, because its first lines alone are not valid JSON.
func (e *events) startsNewEvent(value []byte) bool {
	return e.hasData && (e.hasNextName || beginsAsJSON(value)) && e.dataAreWhole()
}

// dataAreWhole reports whether the pending data are a JSON object or list, or [DONE]. However often it is asked, it
// looks at each byte of the data only once or twice.
func (e *events) dataAreWhole() bool {
	if len(e.data) < 16 && isDone(e.data) {
		return true
	}
	x := &e.extent
	x.scan(e.data)
	if !x.ended || x.continued {
		return false
	}
	if !x.checked {
		x.checked = true
		x.valid = isWhole(e.data)
	}
	return x.valid
}

// appendBounded adds a line to the lines that belong to no field. Bytes beyond maxUnfielded are dropped.
func appendBounded(kept, line []byte) []byte {
	const maxUnfielded = 64 << 10 // bytes
	room := maxUnfielded - len(kept)
	if room <= 0 {
		return kept
	}
	kept = append(kept, line[:min(len(line), room)]...)
	return append(kept, '\n')
}

// isField reports whether a line is a field of an event, or a comment.
func isField(line []byte) bool {
	name, _, hasColon := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "":
		return hasColon
	case "data", "event", "id", "retry":
		return true
	}
	return false
}

// A jsonExtent finds the end of the JSON object or list with which a growing text begins. It does not look whether that
// is valid.
type jsonExtent struct {
	scanned   int  // bytes
	depth     int  // of open objects and lists
	quoted    bool // within a string
	escaped   bool // after a backslash in it
	ended     bool // the object or list is closed
	continued bool // after that comes more than white space

	checked bool // its user has looked whether the object or list is valid
	valid   bool // it is
}

// scan looks at the bytes that were added since it was called last.
func (j *jsonExtent) scan(text []byte) {
	for _, c := range text[j.scanned:] {
		switch {
		case j.ended:
			j.continued = j.continued || c != ' ' && c != '\t' && c != '\n' && c != '\r'
		case j.escaped:
			j.escaped = false
		case j.quoted:
			j.escaped = c == '\\'
			j.quoted = c != '"'
		case c == '"':
			j.quoted = true
		case c == '{', c == '[':
			j.depth++
		case c == '}', c == ']':
			j.depth--
			j.ended = j.depth <= 0
		}
	}
	j.scanned = len(text)
}

// isWhole reports whether data is a JSON object or list, or [DONE].
func isWhole(data []byte) bool {
	data = bytes.TrimSpace(data)
	return isDone(data) || beginsAsJSON(data) && json.Valid(data)
}

// isDone reports whether data is the end marker of OpenAI's APIs.
func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// beginsAsJSON reports whether data begins as a JSON object or list.
func beginsAsJSON(data []byte) bool {
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}
