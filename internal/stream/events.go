package stream

import (
	"bytes"
	"encoding/json"
	"io"
)

// endEventLine takes a complete line of an event. It returns the event that the line completes: the pending one, if the
// line is blank or begins another.
func (s *Frames) endEventLine() (Frame, bool) {
	if !s.begun {
		s.begun = true
		s.line = bytes.TrimPrefix(s.line, []byte("\xef\xbb\xbf")) // byte order mark
	}
	if len(s.line) == 0 {
		return s.dispatch(s.arrival())
	}
	if !s.startsNewEvent() {
		s.addField()
		return Frame{}, false
	}
	before, _ := s.dispatch(s.dataEnd)
	s.addField()
	return before, true
}

// addField adds the field in the complete line to the pending event.
func (s *Frames) addField() {
	name, value, _ := bytes.Cut(s.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
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
		s.event = append(s.event[:0], value...)
	}
	s.line = s.line[:0]
}

// addComment takes a comment before any data of the pending event. It does not count towards the length of a frame, so
// that a server may keep a connection awake for ever. Dynamo writes the text of an error into a comment.
func (s *Frames) addComment(text []byte) {
	if string(s.event) == "error" {
		s.data = append(s.data[:0], text...)
	}
	s.size = 0
}

// startsNewEvent reports whether the complete line begins a new event although no blank line came before: the pending
// data are a JSON value, or [DONE], and the line has data that begin as JSON. A JSON text over several lines stays one
// event, because its first lines alone are not valid JSON.
func (s *Frames) startsNewEvent() bool {
	value, isData := bytes.CutPrefix(s.line, []byte("data:"))
	if !isData || !s.hasData {
		return false
	}
	return beginsAsJSON(bytes.TrimPrefix(value, []byte(" "))) && isWhole(s.data)
}

// isWhole reports whether data is a JSON object or list, or [DONE].
func isWhole(data []byte) bool {
	data = bytes.TrimSpace(data)
	return string(data) == "[DONE]" || beginsAsJSON(data) && json.Valid(data)
}

// beginsAsJSON reports whether data begins as a JSON object or list.
func beginsAsJSON(data []byte) bool {
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// dispatch returns the pending event, if it has data or is an error, and begins the next one.
func (s *Frames) dispatch(timestamp Timestamp) (Frame, bool) {
	f := Frame{Event: string(s.event), Data: s.data, Timestamp: timestamp}
	ok := s.hasData || f.Event == "error"
	s.data, s.returned = s.returned[:0], s.data
	s.event = s.event[:0]
	s.hasData = false
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
	switch {
	case !s.hasData:
		return Frame{}, false
	case beginsAsJSON(s.data) && !isWhole(s.data):
		s.err = io.ErrUnexpectedEOF
		return Frame{}, false
	}
	return s.dispatch(s.dataEnd)
}
