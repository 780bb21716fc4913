package wire

import "bytes"

// end is the data of the last frame of many streams.
var end = []byte("[DONE]")

// opened begins the decoding of a frame: object is the frame's, without white space
// around it. A frame that holds none is decoded already, and object is nil.
func opened(data []byte) (object []byte, d Delta, err error) {
	data = bytes.TrimSpace(data)
	switch {
	case bytes.Equal(data, end):
		return nil, Delta{Done: true}, nil
	case valid(data):
		return data, Delta{}, nil
	}
	if failure := ParseError(data); failure != nil {
		return nil, Delta{Err: failure}, nil
	}
	return nil, Delta{}, malformed(data)
}

// errorBeside is [ParseError] for a frame that may have tokens: most that have
// hold no key that could be an error's, and are not parsed twice.
func errorBeside(data []byte, tokens bool) *ServerError {
	if tokens && !bytes.Contains(data, []byte(`"error`)) {
		return nil
	}
	return ParseError(data)
}
