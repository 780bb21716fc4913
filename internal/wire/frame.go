package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// decode reads a frame with read, which gets the JSON object in it without white space around
// it, and looks for an error beside what read found. A frame need not hold an object: it may be
// the end marker of many streams, an error in plain words, or empty to keep a connection awake.
func decode(data []byte, read func(frame []byte) Delta) (d Delta, err error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0, string(data) == "[DONE]":
		return d, nil
	case data[0] == '{' && json.Valid(data):
		// Most frames with tokens hold no key that could be an error's, and are not parsed twice.
		if d = read(data); d.Err == nil && (!d.Choice || bytes.Contains(data, []byte(`"error`))) {
			d.Err = ParseError(data)
		}
		return d, nil
	case isComplaint(data):
		return Delta{Err: &ServerError{Message: Describe(data)}}, nil
	}
	if failure := ParseError(data); failure != nil {
		return Delta{Err: failure}, nil
	}
	return d, fmt.Errorf("%w: %d bytes that are no JSON object", ErrMalformed, len(data))
}

// complaints are how the texts begin by which routers and proxies break off a stream. The list is only read.
// Any other text may be a part of an answer, which no error repeats.
var complaints = []string{
	"inference error", "error", "internal error", "internal server error", // llm-d's router; many
	"upstream ", "no healthy upstream", "stream timeout", "stream idle timeout", // Envoy
	"bad gateway", "gateway timeout", "service unavailable", "too many requests",
}

// isComplaint reports whether data is an error in plain words.
func isComplaint(data []byte) bool {
	const longest = 40
	start := strings.ToLower(string(data[:min(len(data), longest)]))
	return slices.ContainsFunc(complaints, func(c string) bool { return strings.HasPrefix(start, c) })
}
