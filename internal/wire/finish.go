package wire

// An Ending is what a finish reason means.
type Ending int

// The endings.
const (
	Unfinished Ending = iota // a reason that no known server gives for a finished answer
	Finished                 // the answer is whole
	AtLimit                  // whole, and cut at the length asked for
	Filtered                 // withheld or broken off by a filter
	Failed                   // the server gave up
)

// endings says what each known finish reason means. The list is only read.
var endings = map[string]Ending{
	"stop": Finished, "tool_calls": Finished, "function_call": Finished, // OpenAI
	"eos_token": Finished, "stop_sequence": Finished, endOfText: Finished, // TGI
	"end_turn": Finished, "eos": Finished,
	"length": AtLimit, "max_tokens": AtLimit,
	"content_filter": Filtered, "refusal": Filtered,
	"error": Failed, "abort": Failed, "parse_error": Failed, "unexpected_state": Failed,
}

// EndingOf is what a finish reason means.
func EndingOf(reason string) Ending { return endings[reason] }
