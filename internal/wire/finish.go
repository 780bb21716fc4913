package wire

import "strings"

// An Ending is what a finish reason means.
type Ending int

// The endings.
const (
	Unfinished Ending = iota // no known server gives this reason for a finished answer
	Finished                 // the answer is whole
	AtLimit                  // the answer is whole: it ends at the length asked for, or at the end of the context
	Filtered                 // a filter withheld the answer or broke it off
	Failed                   // the server gave up
	CutShort                 // the server's context was too short for what was asked
)

// EndingOf returns what a finish reason means, in upper or lower case.
func EndingOf(reason string) Ending { return endings[strings.ToLower(reason)] }

// endings says what each known finish reason means. Ollama's "load" and "unload" are missing on purpose: nothing was
// answered. The table is only read.
var endings = map[string]Ending{
	// OpenAI, and those that serve its API
	"stop":           Finished,
	"tool_calls":     Finished,
	"function_call":  Finished,
	"length":         AtLimit,
	"content_filter": Filtered,

	// OpenAI's Responses
	"completed":         Finished,
	"max_output_tokens": AtLimit,
	"failed":            Failed,
	"cancelled":         Failed,

	// Anthropic
	"end_turn":                      Finished,
	"tool_use":                      Finished,
	"pause_turn":                    Finished,
	"max_tokens":                    AtLimit,
	"model_context_window_exceeded": AtLimit,
	"refusal":                       Filtered,

	// TGI; Anthropic also has stop_sequence
	"eos_token":      Finished,
	"stop_sequence":  Finished,
	"generated_text": Finished,

	// llama-server
	"eos":       Finished,
	"word":      Finished,
	"limit":     AtLimit,
	"truncated": CutShort,

	"done":         Finished, // Ollama
	"model_length": AtLimit,  // Mistral
	"complete":     Finished, // Cohere behind gateways

	"insufficient_system_resource": Failed, // DeepSeek
	"error":                        Failed,
	"abort":                        Failed,
	"parse_error":                  Failed,
	"unexpected_state":             Failed,
}
