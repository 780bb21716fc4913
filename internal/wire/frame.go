package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Decode interprets the data of one frame: a JSON object, the end marker, an error in plain words, or nothing to keep a connection
// awake. An error the server reported is in Delta.Err; the returned error wraps [ErrMalformed] and nothing else.
func (d *Dialect) Decode(data []byte) (Delta, error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0, string(data) == "[DONE]":
		return Delta{}, nil
	case data[0] == '{' && json.Valid(data):
		// Most frames with tokens hold no key that could be an error's, and are not parsed twice.
		delta := d.read(data)
		if delta.Err == nil && (!delta.Choice || bytes.Contains(data, []byte(`"error`))) {
			delta.Err = ParseError(data)
		}
		return delta, nil
	case slices.ContainsFunc(complaints, func(c string) bool {
		return strings.HasPrefix(strings.ToLower(string(data[:min(len(data), len(c))])), c)
	}):
		return Delta{Err: &ServerError{Message: Describe(data)}}, nil
	}
	if failure := ParseError(data); failure != nil {
		return Delta{Err: failure}, nil
	}
	return Delta{}, fmt.Errorf("%w: %d bytes that are no JSON object", ErrMalformed, len(data))
}

// complaints are how the texts begin by which routers and proxies break off a stream. The list is only read.
// Any other text may be a part of an answer, which no error repeats.
var complaints = []string{
	"inference error", "error", "internal error", "internal server error", // llm-d's router; many
	"upstream ", "no healthy upstream", "stream timeout", "stream idle timeout", // Envoy
	"bad gateway", "gateway timeout", "service unavailable", "too many requests",
}

// An Ending is what a finish reason means.
type Ending int

// The endings.
const (
	Unfinished Ending = iota // a reason that no known server gives for a finished answer
	Finished                 // the answer is whole
	AtLimit                  // whole, and cut at the length asked for or at the context's end
	Filtered                 // withheld or broken off by a filter
	Failed                   // the server gave up
	CutShort                 // the server's context was too short for what was asked
)

// endings says what each known finish reason means. The list is only read.
// Ollama's "load" and "unload" are not in it: nothing was answered.
var endings = map[string]Ending{
	"stop": Finished, "tool_calls": Finished, "function_call": Finished, // OpenAI
	"completed": Finished, "max_output_tokens": AtLimit, "failed": Failed, "cancelled": Failed, // Responses
	"end_turn": Finished, "tool_use": Finished, "pause_turn": Finished, // Anthropic
	"max_tokens": AtLimit, "model_context_window_exceeded": AtLimit,
	"eos_token": Finished, "stop_sequence": Finished, "generated_text": Finished, // TGI; stop_sequence Anthropic too
	"eos": Finished, "word": Finished, "limit": AtLimit, "truncated": CutShort, // llama-server
	"done":         Finished, // Ollama
	"length":       AtLimit,
	"model_length": AtLimit, "complete": Finished, // Mistral; Cohere behind gateways
	"insufficient_system_resource": Failed, // DeepSeek
	"content_filter":               Filtered, "refusal": Filtered,
	"error": Failed, "abort": Failed, "parse_error": Failed, "unexpected_state": Failed,
}

// EndingOf is what a finish reason means, whatever its case.
func EndingOf(reason string) Ending { return endings[strings.ToLower(reason)] }
