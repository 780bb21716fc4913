package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Decode reads the data of one frame: a JSON object, the end marker, an error in plain words, or nothing, which keeps a
// connection awake. An error that the server reported is in [Delta.Err]. The returned error means that the frame is not
// understood: it wraps [ErrMalformed].
func (d *Dialect) Decode(data []byte) (Delta, error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return Delta{}, nil
	case bytes.HasPrefix(data, []byte("[DONE]")): // of OpenAI's APIs, and of gateways that add it to others
		return Delta{End: true}, nil
	case data[0] == '{' && json.Valid(data):
		return d.decodeObject(data), nil
	case isProxyError(data):
		return Delta{Err: &ServerError{Message: Describe(data)}}, nil
	}
	failure := ParseError(data)
	if failure != nil {
		return Delta{Err: failure}, nil
	}
	return Delta{}, fmt.Errorf("%w: %d bytes that are not a JSON object", ErrMalformed, len(data))
}

// decodeObject reads a frame that is a JSON object. Most frames with tokens have no key that could be an error's, and
// are not parsed a second time to find one.
func (d *Dialect) decodeObject(data []byte) Delta {
	delta := d.read(data)
	mayBeError := !delta.Choice || bytes.Contains(data, []byte(`"error`))
	if delta.Err == nil && mayBeError {
		delta.Err = ParseError(data)
	}
	return delta
}

// isProxyError reports whether a frame is a plain text with which a router or a proxy ends a stream.
func isProxyError(data []byte) bool {
	return slices.ContainsFunc(proxyErrorPrefixes, func(prefix string) bool {
		start := data[:min(len(data), len(prefix))]
		return strings.EqualFold(string(start), prefix)
	})
}

// proxyErrorPrefixes are the beginnings of plain texts with which routers and proxies end a stream. Any other text may
// be a part of an answer, which no error repeats. The list is only read.
var proxyErrorPrefixes = []string{
	"inference error", "error", "internal error", "internal server error", // llm-d's router; many others
	"upstream ", "no healthy upstream", "stream timeout", "stream idle timeout", // Envoy
	"bad gateway", "gateway timeout", "service unavailable", "too many requests",
}
