package wire

import (
	"bytes"
	"slices"
	"strings"
)

// end is the data of the last frame of many streams.
var end = []byte("[DONE]")

// opened begins the decoding of a frame: frame is the object in it, without white space
// around it, and f, if there is one, was called with each of its fields. A frame that holds
// no object is decoded already, to d, and frame is nil; what f was told is void then.
func opened(data []byte, f func(key, value []byte)) (frame []byte, d Delta, err error) {
	data = bytes.TrimSpace(data)
	switch {
	case bytes.Equal(data, end):
		return nil, Delta{Done: true}, nil
	case object(data, f):
		return data, Delta{}, nil
	case len(data) == 0: // keeps a connection awake
		return nil, Delta{}, nil
	case spoken(data):
		return nil, Delta{Err: &ServerError{Message: Describe(data)}}, nil
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

// complaints are how the texts begin by which routers and proxies break off a
// stream. The list is only read. Any other text may be a part of an answer, which
// no error repeats.
var complaints = []string{
	"inference error", "error", "internal error", "internal server error", // llm-d's router; many
	"upstream ", "no healthy upstream", "stream timeout", "stream idle timeout", // Envoy
	"bad gateway", "gateway timeout", "service unavailable", "too many requests",
}

// spoken reports whether data is an error in plain words.
func spoken(data []byte) bool {
	const longest = 40
	start := strings.ToLower(string(data[:min(len(data), longest)]))
	return slices.ContainsFunc(complaints, func(c string) bool { return strings.HasPrefix(start, c) })
}
