package length

import (
	"maps"

	"github.com/llm-prober/prober/internal/prompt"
)

// A State is how certain it is how a server counts the prompts of one length.
type State string

// The states.
const (
	Unknown   State = "unknown"   // nobody has counted them, or an answer has shown that they count otherwise
	Counting  State = "counting"  // nobody has counted them yet, or not any more, and the server is being asked
	Estimated State = "estimated" // the server counts nothing: one token per word is assumed
	Counted   State = "counted"   // the tokenizer has counted them, and no answer yet
	Confirmed State = "confirmed" // the usage of an answer agrees
	Doubted   State = "doubted"   // the usage of the latest answer differs; that of an earlier one agreed
)

// Exact reports whether the server has counted the prompts.
func (s State) Exact() bool { return s == Counted || s == Confirmed || s == Doubted }

// An event is what changes a [State].
type event string

// The events.
const (
	countBegins      event = "a count begins"
	countBreaksOff   event = "a count breaks off"
	tokenizerCounted event = "the tokenizer has counted"
	usageCounted     event = "the usage of short answers has counted"
	nothingCounted   event = "the server counts nothing"
	answerAgrees     event = "the usage of an answer agrees"
	answerDiffers    event = "the usage of an answer differs"
)

// after returns the state after an event. Several counts may run at the same time: the first to end decides, and an
// estimate replaces no count. One answer that differs from a tokenizer is enough to count again, because many
// tokenizers leave out the chat template. A usage that an answer has confirmed needs two in a row: a gateway may have
// sent one prompt elsewhere.
func (s State) after(e event) State {
	switch e {
	case countBegins:
		if s == Unknown {
			return Counting
		}
	case countBreaksOff:
		if s == Counting {
			return Unknown
		}
	case tokenizerCounted:
		if !s.Exact() {
			return Counted
		}
	case usageCounted:
		if !s.Exact() {
			return Confirmed
		}
	case nothingCounted:
		if !s.Exact() {
			return Estimated
		}
	case answerAgrees:
		if s.Exact() {
			return Confirmed
		}
	case answerDiffers:
		switch s {
		case Confirmed:
			return Doubted
		case Counted, Doubted, Estimated: // a server that counted nothing begins to count
			return Unknown
		}
	}
	return s
}

// A Method is how the tokens of prompts are counted.
type Method string

// The methods, best first.
const (
	ByTokenizer Method = "tokenizer" // a route of the server that counts tokens
	ByUsage     Method = "usage"     // the usage of short answers to requests that are recorded nowhere
	ByEstimate  Method = "estimate"  // nobody counts them: one token per word is assumed
)

// A record is what is known of how a server counts the prompts of one length. A copy must be made by clone.
type record struct {
	state    State
	method   Method  // the latest that had a result; empty: none had
	requests int     // with short answers, that it took
	found    finding // the size of the prompts, if the state is exact

	distrusted bool // the server's answers have contradicted its tokenizer

	// trials are the tokens that the usage of short answers had in a count that broke off. The next one goes on from
	// there, because a quota of tokens per minute or day may be less than a whole count takes.
	trials map[prompt.Size]int
}

func (r record) clone() record {
	r.trials = maps.Clone(r.trials)
	return r
}

// agrees reports whether a server still counts as it did, if it counts these tokens in a prompt of the length asked.
func (r record) agrees(tokens, asked int) bool {
	if r.state == Estimated {
		return false
	}
	if r.found.cut {
		return tokens < asked
	}
	return tokens == r.found.tokens
}
