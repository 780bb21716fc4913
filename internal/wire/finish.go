package wire

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// An Ending is what a finish reason means.
type Ending int

// The endings.
const (
	Unfinished Ending = iota // there is no reason yet
	Finished                 // the answer is whole
	AtLimit                  // the answer is whole: it ends at the length asked for, or at the end of the context
	EndedEarly               // the server ended the answer before its time
	Filtered                 // a filter withheld the answer or broke it off
	Failed                   // the server gave up
	CutShort                 // the server's context was too short for what was asked
	NoAnswer                 // the server did something else than answer
	UnknownEnd               // the answer ended for a reason that says nothing to us
)

// EndingOf returns what a finish reason means, in upper, lower or camel case and with any separator. Of one that no
// known server gives, a part may tell.
func EndingOf(reason string) Ending {
	word := strings.TrimSpace(reason)
	if word == "" {
		return Unfinished
	}
	word = strings.ToLower(camelStep.ReplaceAllString(word, "${1}_$2"))
	word = word[strings.LastIndexByte(word, '.')+1:] // FinishReason.STOP is how Python prints a constant of Vertex AI
	word = strings.ReplaceAll(strings.ReplaceAll(word, "-", "_"), " ", "_")
	ending, isKnown := endings[word]
	if isKnown {
		return ending
	}
	for _, kind := range endingsByPart {
		for _, part := range kind.parts {
			if strings.Contains(word, part) {
				return kind.ending
			}
		}
	}
	return UnknownEnd
}

// camelStep matches where a word begins within another: endTurn.
var camelStep = regexp.MustCompile(`([a-z])([A-Z])`)

func (d *Delta) setFinish(value gjson.Result) { d.setReason(finishReason(value)) }

// setReason sets the finish reason, unless it is empty. A long reason is cut.
func (d *Delta) setReason(reason string) {
	const longest = 40 // bytes
	if reason != "" {
		d.Finish = strings.ToValidUTF8(reason[:min(longest, len(reason))], "")
	}
}

// finishReason returns the reason that the value of a key gives: a word, an object of SGLang's with its type, or the
// number of a constant. It is empty as long as there is none, which servers write in many ways.
func finishReason(value gjson.Result) string {
	if value.IsArray() {
		value = firstElement(value)
	}
	word := textIn(value)
	if value.IsObject() {
		word = cmp.Or(member(value, "type").Str, member(value, "reason").Str)
	}
	word = strings.TrimSpace(word)
	for _, none := range noReasons {
		if strings.EqualFold(word, none) {
			return ""
		}
	}
	return word
}

// noReasons are the words that say that an answer goes on: of DashScope, Triton (Python's None), watsonx and
// TensorRT-LLM, the first constant of an enumeration and Gemini's name of it, and how languages print nothing. The list
// is only read.
var noReasons = []string{
	"null", "none", "not_finished", "0", "finish_reason_unspecified", "nil", "<nil>", "undefined", "in_progress",
}

// endingsByPart says what the parts of an unknown word mean, the first that fits. The table is only read.
var endingsByPart = []struct {
	ending Ending
	parts  []string
}{
	{Filtered, []string{
		"filter", "safety", "moderat", "sensitive", "prohibit", "policy", "guardrail", "refus", "block", "censor", "toxic",
		"jailbreak", "risk", "flagged",
	}},
	{Failed, []string{
		"error", "fail", "abort", "cancel", "malformed", "exception", "unavailable", "overload", "rate_limit",
	}},
	{EndedEarly, []string{"repeti", "repeat", "timeout", "timed_out", "time_limit", "max_time", "deadline", "preempt"}},
	{AtLimit, []string{"length", "limit", "max"}},
}

// endings says what each known finish reason means. The table is only read.
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
	"incomplete":        EndedEarly,
	"failed":            Failed,
	"cancelled":         Failed,

	// Anthropic
	"end_turn":                      Finished,
	"tool_use":                      Finished,
	"pause_turn":                    Finished,
	"compaction":                    Finished,
	"max_tokens":                    AtLimit,
	"model_context_window_exceeded": AtLimit,
	"refusal":                       Filtered,

	// TGI; Anthropic also has stop_sequence
	"eos_token":      Finished,
	"stop_sequence":  Finished,
	"generated_text": Finished,

	// llama-server; Together has eos
	"eos":       Finished,
	"word":      Finished,
	"limit":     AtLimit,
	"truncated": CutShort,

	// Gemini and Vertex AI, https://ai.google.dev/api/generate-content#FinishReason; its constants come through gateways
	"safety":                    Filtered,
	"recitation":                Filtered,
	"blocklist":                 Filtered,
	"prohibited_content":        Filtered,
	"spii":                      Filtered,
	"language":                  Filtered, // one that is not supported was flagged
	"model_armor":               Filtered,
	"image_safety":              Filtered,
	"image_prohibited_content":  Filtered,
	"image_recitation":          Filtered,
	"other":                     Failed,
	"no_image":                  Failed,
	"malformed_function_call":   Failed,
	"unexpected_tool_call":      Failed,
	"too_many_tool_calls":       Failed,
	"missing_thought_signature": Failed,
	"malformed_response":        Failed,

	// Amazon Bedrock: stopReason of Converse, completionReason of Titan
	"guardrail_intervened":   Filtered,
	"content_filtered":       Filtered,
	"malformed_model_output": Failed,
	"malformed_tool_use":     Failed,
	"finished":               Finished,
	"stop_criteria_met":      Finished,

	// Cohere: https://docs.cohere.com/reference/chat-stream
	"complete":    Finished,
	"tool_call":   Finished,
	"error_toxic": Filtered,
	"error_limit": CutShort,
	"user_cancel": Failed,
	"timeout":     EndedEarly, // of TensorRT-LLM as well

	"sensitive":     Filtered, // Zhipu and Hunyuan
	"network_error": Failed,   // Zhipu

	// vLLM ends an answer that repeats itself; watsonx ends one that takes too long
	"repetition": EndedEarly,
	"time_limit": EndedEarly,
	"max_time":   EndedEarly,
	"preempt":    EndedEarly, // MLC

	"done":   Finished, // Ollama
	"load":   NoAnswer, // Ollama
	"unload": NoAnswer, // Ollama

	"normal":         Finished, // ERNIE
	"endoftext":      Finished, // AI21
	"end_of_text":    Finished, // Aleph Alpha
	"maximum_tokens": AtLimit,  // Aleph Alpha
	"model_length":   AtLimit,  // Mistral
	"token_limit":    AtLimit,  // watsonx

	"insufficient_system_resource": Failed, // DeepSeek
	"error":                        Failed,
	"abort":                        Failed,
	"parse_error":                  Failed,
	"unexpected_state":             Failed,
}
