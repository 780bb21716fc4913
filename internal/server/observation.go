package server

import "github.com/llm-prober/prober/internal/wire"

// An Observation is what was seen of a server: an [Identification], a [Rejection], a [Tokenization] or an [Answer].
type Observation interface{ observation() }

func (Identification) observation() {}
func (Rejection) observation()      {}
func (Tokenization) observation()   {}
func (Answer) observation()         {}

// An Identification is what a server says that it is.
type Identification struct {
	Identity             // the configured parts are as configured
	Limits   wire.Limits // of the model; 0 where it does not say
	NoModel  bool        // its list of models is empty
	OnDemand bool        // its list has models that are not in memory
	Reached  bool        // some request got to it; else it said nothing
	Assumed  bool        // it says neither what it is nor which models it has: the identity is the most likely one
}

// A Rejection is that a server refused a request because of fields that it does not know.
type Rejection struct{ Fields []wire.Field }

// A Tokenization is how a server answered when it was asked to count the tokens of a prompt.
type Tokenization struct {
	Counts wire.Claim  // whether it has a route for that; empty: unknown, because it failed
	Limits wire.Limits // that it named, because the prompt was too long
}

// An Answer is what became of a probe: a complete answer, a refusal, or a failure.
type Answer struct {
	OK          bool // the answer is complete, and as it was asked for
	Refused     bool // the server rejected the request as invalid
	NotFound    bool // it knows no such path or model, and not both were configured
	WrongLength bool // prompt or answer have another length than asked
	Ended       bool // the request failed as if the server had ended

	// The request.

	MaxTokens    int          // of the answer
	MayBeShort   bool         // the answer may have fewer: see [wire.Ask.MayEndEarly]
	Words        int          // of the list in the prompt; 0: it has other words
	SentBefore   bool         // the server had been sent the prompt, or what it begins with
	Unsalted     bool         // it had no salt for the cache
	Omitted      []wire.Field // fields that it lacked
	NewlyOmitted []wire.Field // those of them that this probe had sent first, and that were rejected

	// The answer, as far as there is one.

	Usage           wire.Usage
	Finish          string      // reason, in the server's words; empty if none came
	ContinuousUsage bool        // usage on each frame counted its tokens
	CacheApart      wire.Claim  // it counted cached tokens apart from the others; empty: it does not show
	Limits          wire.Limits // that a refusal named
	Unlimited       bool        // it went on after the tokens asked for
	LeftOpen        bool        // its connection should be used again, but the body did not end with the answer
	Gateway         wire.Server // the type that the answer's header names, if none is configured; zero: none
	Model           string      // that answered, by the answer, if none is configured; empty: it does not say
}
