// Package server is what is known of an inference server: what it is, which requests it takes, how it counts tokens,
// and what its cache does. All of that is one value, [Knowledge], and one function makes the next value of it:
// [Knowledge.After] an [Observation]. Start reading there. The package asks nobody, and has no network, no clock and no
// lock: probe.Member asks, and keeps the value.
package server

import (
	"cmp"
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// An Identity is what a server is. If a part of it changes, another server is there, about which nothing else is known.
type Identity struct {
	Dialect *wire.Dialect // the API that it is asked by; nil until known
	Type    wire.Server   // the zero value if unknown
	Version string        // empty if unknown
	Model   string        // that it is asked for; empty until known
}

// Is reports whether two identities are of the same server.
func (i Identity) Is(other Identity) bool {
	return i.Dialect == other.Dialect && i.Type.Name == other.Type.Name &&
		i.Version == other.Version && i.Model == other.Model
}

// Knowledge is what is known of a server. The zero value knows nothing. Copies do not change each other.
type Knowledge struct {
	Identity

	Identified bool // it was reached when it was asked what it is, whatever it said
	NoModel    bool // it was asked for its models, and the list was empty
	OnDemand   bool // its list has models that are not in memory: a request loads them

	Worked     bool   // some probe of the target succeeded; stays true if another server is there now
	Answered   bool   // a probe of this server succeeded
	AnsweredBy string // the model that answered last, by the name in the answer; empty if it names none

	// What requests it takes, and what it makes of them.

	Omit        []wire.Field // fields that it rejects; only read
	SaltUntried bool         // it has answered, but no request with a salt: some prompts have none
	Limits      wire.Limits  // how long prompts and answers may be
	ExactLimit  bool         // an answer that ends for its length has the length asked
	ExactOutput bool         // every answer has the length asked
	Unlimited   bool         // it generated more tokens than asked
	LeavesOpen  bool         // the bodies of its answers do not end with the answers: no connection can be used again

	// How it counts. A claim is empty until an answer shows it.

	ContinuousUsage wire.Claim // usage on every frame
	Tokenizes       wire.Claim // a route that counts tokens

	ReportsCached wire.Claim    // tokens that came from its cache
	CacheHit      bool          // it counted cached tokens in some answer
	CacheMissed   bool          // it counted none for a prompt that it had been sent before, and has not counted any yet
	CacheApart    wire.Claim    // its count of a prompt lacks the tokens that its cache read or wrote
	Uncached      CountedPrompt // the last prompt of which no token came from its cache

	// Doubts: it may be another server by now.

	Contradictions   int  // answers in a row that contradict what is known
	Stale            bool // it is asked what it is before the next probe
	MayHaveRestarted bool // a probe failed as if the server had ended: it is asked after the next answer
}

// A CountedPrompt is a server's count of a prompt that came from no cache, not even in part. Its words are of one list,
// so that prompts of other lengths can be compared with it.
type CountedPrompt struct{ Tokens, Words int }

// Suffices reports whether a probe can be sent without asking the server first what it is. Some servers have no list of
// models, and need no model.
func (k Knowledge) Suffices() bool {
	hasModel := k.Model != "" || k.Answered
	return k.Dialect != nil && hasModel && !k.Stale
}

// MayBeOther reports whether an answer may come from another server than the one that is known, because it is the first
// after a restart, or because it names another model than the answer before. Some servers take every model's name for
// their own.
func (k Knowledge) MayBeOther(a Answer) bool {
	isNamed := a.Model != "" && k.AnsweredBy != ""
	namesOther := isNamed && a.Model != k.AnsweredBy
	return a.OK && (k.MayHaveRestarted || namesOther)
}

// After returns what is known after one more observation.
func (k Knowledge) After(o Observation) Knowledge {
	switch o := o.(type) {
	case Identification:
		return k.afterIdentification(o)
	case Rejection:
		for _, f := range o.Fields {
			if !k.Answered || k.SaltUntried && f == wire.FieldCacheSalt {
				k.Omit = union(k.Omit, []wire.Field{f})
			}
		}
	case Tokenization:
		k.Tokenizes = cmp.Or(o.Counts, k.Tokenizes)
		k.Limits = o.Limits.Or(k.Limits)
	case Answer:
		k = k.afterAnswer(o)
		k = k.afterUsage(o)
		if o.OK {
			k = k.afterSuccess(o)
		}
	}
	return k
}

// afterIdentification takes what a server says that it is. If that is another server than before, or if what was known
// is in doubt, all else is forgotten.
func (k Knowledge) afterIdentification(i Identification) Knowledge {
	saysNothingNew := !i.Reached || i.Assumed && k.Suffices()
	switch {
	case saysNothingNew:
		return k
	case i.NoModel && k.Identified: // what is known of it is right again once it has a model
		k.NoModel = true
		return k
	}

	// What a server does not say is as it was before: a gateway names itself in answers only.
	if !k.Stale && i.Type.Name == "" && k.Dialect != nil {
		i.Type = k.Type
		i.Dialect = k.Dialect
		i.Version = k.Version
	}
	if !k.Stale && i.Type.Name == k.Type.Name {
		i.Version = cmp.Or(i.Version, k.Version)
	}

	isOther := k.Identified && !i.Is(k.Identity)
	if k.Stale || isOther {
		k = Knowledge{Worked: k.Worked, AnsweredBy: k.AnsweredBy}
	}
	k.Identity = i.Identity
	k.Identified = true
	k.NoModel = i.NoModel
	k.OnDemand = i.OnDemand
	k.Limits = i.Limits.Or(k.Limits) // a refusal may have named those that it does not list
	return k
}

// tooManyContradictions is how many answers in a row must contradict what is known of a server for it to be asked again
// what it is, and to be sent all fields again. One alone says nothing.
const tooManyContradictions = 3

// afterAnswer takes what every answer shows, even a failure.
func (k Knowledge) afterAnswer(a Answer) Knowledge {
	if a.Gateway.Name != "" && a.Gateway.Name != k.Type.Name {
		k.Type = a.Gateway
		k.Version = ""
	}
	k.Limits = a.Limits.Or(k.Limits)
	k.LeavesOpen = a.LeftOpen
	k.Unlimited = a.Unlimited || k.Unlimited && !a.OK

	// Another server, or another version, may be there. A refusal contradicts earlier answers to such requests, unless it
	// says that this request is too long. An answer of another length contradicts earlier ones that had the length asked.
	output := a.Usage.Generated()
	isInexact := a.WrongLength && output.Known && output.N != a.MaxTokens
	wasExact := k.ExactLimit || k.ExactOutput
	switch {
	case a.OK:
		k.Contradictions = 0
	case a.Refused && k.Answered && a.Limits == (wire.Limits{}), isInexact && wasExact:
		k.Contradictions++
	}
	k.Stale = k.Stale || a.NotFound || k.Contradictions >= tooManyContradictions
	k.MayHaveRestarted = !a.OK && (k.MayHaveRestarted || a.Ended)

	// Fields are sent again if the request was refused without them as well, unless another probe was answered.
	switch {
	case a.Refused && !k.Answered:
		k.Omit = without(k.Omit, a.NewlyOmitted)
	case a.Refused && k.SaltUntried && slices.Contains(a.NewlyOmitted, wire.FieldCacheSalt):
		k.Omit = without(k.Omit, []wire.Field{wire.FieldCacheSalt})
	}
	return k
}

// afterUsage takes how a server counts a prompt.
func (k Knowledge) afterUsage(a Answer) Knowledge {
	u := a.Usage
	k.CacheApart = cmp.Or(a.CacheApart, k.CacheApart)
	fromCache := u.Cached.N + u.Written.N
	wasCut := u.Prompt.N < a.Words-a.Words/10 // no tokenizer joins more than a tenth of words in random order
	isWhole := u.Prompt.Known && fromCache == 0 && !wasCut
	if isWhole && a.Words > 0 && !a.SentBefore {
		k.Uncached = CountedPrompt{Tokens: u.Prompt.N, Words: a.Words}
	}
	return k
}

// afterSuccess takes what only a complete answer shows.
func (k Knowledge) afterSuccess(a Answer) Knowledge {
	// The fields that the request of the first answer lacked stay omitted. A probe in flight with this one, which was
	// refused without them as well, may have made them be sent again.
	if !k.Answered {
		k.Omit = union(k.Omit, a.Omitted)
	}
	k.SaltUntried = a.Unsalted && (k.SaltUntried || !k.Answered)
	k.Worked = true
	k.Answered = true
	k.AnsweredBy = cmp.Or(a.Model, k.AnsweredBy)

	// An answer that ended at its limit with exactly the tokens asked for shows that the server obeys the limit. If the
	// request also forbade the server to stop early, all answers have this length.
	endedAtLimit := wire.EndingOf(a.Finish) == wire.AtLimit
	isExact := endedAtLimit && a.Usage.Generated() == wire.Tokens(a.MaxTokens)
	k.ExactLimit = k.ExactLimit || isExact
	request := wire.Ask{Server: k.Type, Omit: k.Omit}
	canForbid := k.Dialect != nil && slices.Contains(k.Dialect.Fields, wire.FieldIgnoreEOS)
	forbidsEarlyStop := canForbid && !request.Omits(wire.FieldIgnoreEOS) && !a.MayBeShort
	k.ExactOutput = k.ExactOutput || isExact && a.ContinuousUsage && forbidsEarlyStop

	// Usage in every frame is an extension of vLLM and its relatives.
	if k.ContinuousUsage != wire.Always {
		k.ContinuousUsage = claim(a.ContinuousUsage)
	}

	// A count of cached tokens is known to be one once it is above zero. See [Knowledge.CountsCached] for a count of none.
	cached := a.Usage.Cached
	k.CacheHit = k.CacheHit || cached.N > 0
	k.CacheMissed = !k.CacheHit && (k.CacheMissed || a.SentBefore && cached.Known)
	switch {
	case k.CacheHit, cached.Known && k.CountsCached(a.SentBefore):
		k.ReportsCached = wire.Always
	case k.CacheMissed:
		k.ReportsCached = wire.Unknown
	case cached.Known: // this 0 may be no count, so that the server's type decides
		k.ReportsCached = ""
	case k.ReportsCached == "":
		k.ReportsCached = wire.Never
	}
	return k
}

// union returns the fields of a, then the fields of b that a lacks, each once.
func union(a, b []wire.Field) []wire.Field {
	a = slices.Clip(a)
	for _, f := range b {
		if !slices.Contains(a, f) {
			a = append(a, f)
		}
	}
	return a
}

func without(a, b []wire.Field) (rest []wire.Field) {
	for _, f := range a {
		if !slices.Contains(b, f) {
			rest = append(rest, f)
		}
	}
	return rest
}

// claim returns the claim of a server that does something, or does not.
func claim(does bool) wire.Claim {
	if does {
		return wire.Always
	}
	return wire.Never
}
