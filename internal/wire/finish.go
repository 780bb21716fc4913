package wire

import "strings"

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
