package stream

import (
	"bytes"
	"encoding/json"
	"io"
)

// endEventLine takes a complete line of an event. It returns the event that the line completes: the pending one, if the
// line is blank or begins another, or the line itself, if it is a JSON text outside of any field.
func (s *Frames) endEventLine() (Frame, bool) {
	if len(s.line) == 0 {
		s.nameByLaterField()
		return s.dispatch(s.arrival())
	}
	name, value, _ := bytes.Cut(s.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	isBare := s.isBareJSON() && (!s.hasData || s.dataAreWhole())
	if isBare { // an error in place of an event, or a line of a body that is no event stream in spite of its type
		name, value = []byte("data"), s.line
		s.mislabeled = s.mislabeled || !s.framed
	}
	isNew := string(name) == "data" && s.startsNewEvent(value)
	var before Frame
	if isNew {
		before, _ = s.dispatch(s.dataEnd)
		s.nameByLaterField()
	}
	s.addField(string(name), value)
	s.bare = s.bare || isBare
	if isBare && !isNew {
		return s.dispatch(s.dataEnd)
	}
	return before, isNew
}

// addField adds a field to the pending event.
func (s *Frames) addField(name string, value []byte) {
	switch name {
	case "": // a comment
		if !s.hasData {
			s.addComment(value)
		}
	case "data":
		if s.hasData {
			s.data = append(s.data, '\n')
		} else {
			s.data = s.data[:0]
		}
		s.data = append(s.data, value...)
		s.hasData = true
		s.dataEnd = s.arrival()
	case "event":
		if s.hasData && s.dataAreWhole() { // it may name this event or the next: the next line tells
			s.later = append(s.later[:0], value...)
			s.hasLater = true
			break
		}
		s.event = append(s.event[:0], value...)
	case "id", "retry":
	default:
		s.unfielded = appendBounded(s.unfielded, s.line)
	}
	s.line = s.line[:0]
}

// nameByLaterField gives the pending event the name that came after whole data.
func (s *Frames) nameByLaterField() {
	if s.hasLater {
		s.event = append(s.event[:0], s.later...)
		s.hasLater = false
	}
}

// appendBounded adds a line to those that belong to no field. What is longer than maxUnfielded is dropped.
func appendBounded(kept, line []byte) []byte {
	const maxUnfielded = 64 << 10 // bytes
	room := maxUnfielded - len(kept)
	if room <= 0 {
		return kept
	}
	kept = append(kept, line[:min(len(line), room)]...)
	return append(kept, '\n')
}

// Unfielded returns the lines of an event stream so far that belong to no field of the standard, without JSON texts of
// a single line, which are frames. Servers and proxies write the text of an error there, or a whole page. At most
// 64 KiB are kept. The result is valid until the next call of [Frames.Next].
func (s *Frames) Unfielded() []byte {
	if s.lines || len(s.line) == 0 || isField(s.line) {
		return s.unfielded
	}
	return appendBounded(s.unfielded, s.line)
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

// isBareJSON reports whether the complete line is a JSON object or list by itself.
func (s *Frames) isBareJSON() bool {
	return beginsAsJSON(s.line) && json.Valid(s.line)
}

// addComment takes a comment before any data of the pending event. It does not count towards the length of a frame, so
// that a server may keep a connection awake for ever. Dynamo writes the text of an error into a comment.
func (s *Frames) addComment(text []byte) {
	if string(s.event) == "error" {
		s.data = append(s.data[:0], text...)
	}
	s.size = 0
}

// startsNewEvent reports whether a line of data begins a new event although no blank line came before: the pending data
// are a JSON value, or [DONE], and either the line begins as JSON or a name came before it. A JSON text over several
// lines stays one event, because its first lines alone are not valid JSON.
func (s *Frames) startsNewEvent(value []byte) bool {
	return s.hasData && (s.hasLater || beginsAsJSON(value)) && s.dataAreWhole()
}

// dataAreWhole reports whether the pending data are a JSON object or list, or [DONE]. However often it is asked, it
// looks at each byte of the data only once or twice.
func (s *Frames) dataAreWhole() bool {
	if len(s.data) < 16 && isDone(s.data) {
		return true
	}
	s.extent.scan(s.data)
	if s.extent.ended && !s.extent.checked {
		s.extent.checked = true
		s.extent.wrong = s.extent.wrong || !isWhole(s.data)
	}
	return s.extent.ended && !s.extent.wrong
}

// A jsonExtent finds the end of the JSON object or list with which a growing text begins. It does not look whether that
// is valid.
type jsonExtent struct {
	scanned int  // bytes
	depth   int  // of open objects and lists
	quoted  bool // within a string
	escaped bool // after a backslash in it
	ended   bool // the object or list is closed
	wrong   bool // the text is no JSON: it goes on after that, or is not valid
	checked bool // wrong says whether it is valid
}

// scan looks at the bytes that were added since it was called last.
func (j *jsonExtent) scan(text []byte) {
	for _, c := range text[j.scanned:] {
		switch {
		case j.ended:
			j.wrong = j.wrong || c != ' ' && c != '\t' && c != '\n' && c != '\r'
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

// dispatch returns the pending event, if it has data or is an error, and begins the next one.
func (s *Frames) dispatch(arrival Arrival) (Frame, bool) {
	f := Frame{Event: string(s.event), Data: s.data, Bare: s.bare, Arrival: arrival}
	ok := s.hasData || f.Event == "error"
	s.framed = s.framed || ok
	s.data, s.returned = s.returned[:0], s.data
	s.event = s.event[:0]
	s.hasData = false
	s.bare = false
	s.extent = jsonExtent{}
	s.size = len(s.line)
	return f, ok
}

// flushEvent returns the event that the body left without a blank line, or without the end of its last line. JSON that
// is not whole is not an event.
func (s *Frames) flushEvent() (Frame, bool) {
	if len(s.line) > 0 {
		f, ok := s.endEventLine()
		if ok {
			return f, true
		}
		s.dataEnd = s.arrival()
	}
	s.nameByLaterField()
	switch {
	case !s.hasData:
		return Frame{}, false
	case beginsAsJSON(s.data) && !isWhole(s.data):
		s.err = io.ErrUnexpectedEOF
		return Frame{}, false
	}
	return s.dispatch(s.dataEnd)
}
