package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/wire"
)

func lookup[T any](t *testing.T, find func(string) (T, error), name string) T {
	t.Helper()
	found, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestAfter holds what observations teach of a server, and what they unteach. Each case begins with a vLLM that has
// said what it is.
func TestAfter(t *testing.T) {
	chat, tgi := lookup(t, wire.Lookup, "openai-chat"), lookup(t, wire.Lookup, "tgi")
	vllm, gateway := lookup(t, wire.LookupServer, "vllm"), lookup(t, wire.LookupServer, "litellm")
	m := Identity{Dialect: chat, Type: vllm, Version: "1", Model: "m"}
	changed := func(change func(*Identity)) Identification {
		now := m
		change(&now)
		return Identification{Identity: now, Reached: true}
	}
	same := changed(func(*Identity) {})
	upgraded := changed(func(i *Identity) { i.Version = "2" })
	otherModel := changed(func(i *Identity) { i.Model = "other" })
	otherAPI := changed(func(i *Identity) { i.Dialect = tgi })
	silent := changed(func(i *Identity) { *i = Identity{Dialect: chat, Model: "m"} })
	withoutVersion := changed(func(i *Identity) { i.Version = "" })
	down := Identification{Identity: Identity{Dialect: chat, Model: "m"}}
	assumed := changed(func(i *Identity) { *i = Identity{Dialect: chat} })
	assumed.Assumed = true
	empty := changed(func(i *Identity) { i.Version = "2" })
	empty.NoModel = true
	listed := same
	listed.Limits, listed.OnDemand = wire.Limits{Context: 4096}, true

	const salt, minimum, ignoreEOS = wire.FieldCacheSalt, wire.FieldMinTokens, wire.FieldIgnoreEOS
	usage := func(prompt, cached, output int) wire.Usage {
		return wire.Usage{Prompt: wire.Tokens(prompt), Cached: wire.Tokens(cached), Output: wire.Tokens(output)}
	}
	ok := Answer{OK: true, MaxTokens: 5, Finish: "stop"}
	exact := Answer{OK: true, MaxTokens: 5, Finish: "length", Usage: usage(80, 0, 5), ContinuousUsage: true}
	uncounted := exact
	uncounted.ContinuousUsage = false
	restricted := exact
	restricted.Omitted = []wire.Field{ignoreEOS}
	rejects := func(fields ...wire.Field) Rejection { return Rejection{Fields: fields} }
	withoutSalt := Answer{OK: true, Omitted: []wire.Field{salt}}
	refusedAgain := Answer{Refused: true, NewlyOmitted: []wire.Field{salt}}
	unsalted := ok
	unsalted.Unsalted = true
	tooLong := Answer{Refused: true, Limits: wire.Limits{Context: 4096}}
	viaGateway := Answer{OK: true, Gateway: gateway}
	viaCountingGateway := Answer{OK: true, Gateway: gateway, Usage: usage(80, 0, 5)}
	short := Answer{WrongLength: true, MaxTokens: 5, Usage: usage(80, 0, 3)}
	unknownLength := Answer{WrongLength: true, MaxTokens: 5}
	refusal := Answer{Refused: true}
	missing := Answer{NotFound: true}
	broken := Answer{Ended: true}
	by := func(model string) Answer { return Answer{OK: true, Model: model} }
	counts := func(sentBefore bool, cached wire.Count) Answer {
		return Answer{OK: true, SentBefore: sentBefore, Usage: wire.Usage{Prompt: wire.Tokens(80), Cached: cached}}
	}
	prompt := func(words int, u wire.Usage, sentBefore bool) Answer {
		return Answer{Words: words, Usage: u, SentBefore: sentBefore}
	}

	type seen = []Observation
	for name, test := range map[string]struct {
		seen seen
		want func(*Knowledge) // what differs then from the knowledge of a vLLM that has said what it is
	}{
		// What it says that it is.
		"it says the same again": {seen{ok, same}, success},
		"it lists its context, and models on demand": {seen{ok, listed}, func(k *Knowledge) {
			success(k)
			k.Limits.Context, k.OnDemand = 4096, true
		}},
		"another version": {seen{exact, upgraded}, func(k *Knowledge) { k.Version, k.Worked = "2", true }},
		"another model":   {seen{exact, otherModel}, func(k *Knowledge) { k.Model, k.Worked = "other", true }},
		"another API":     {seen{exact, otherAPI}, func(k *Knowledge) { k.Dialect, k.Worked = tgi, true }},
		"another model, by name": {seen{by("m"), otherModel}, func(k *Knowledge) {
			k.Model, k.Worked, k.AnsweredBy = "other", true, "m"
		}},
		"it does not say":    {seen{ok, silent}, success},
		"it says no version": {seen{ok, withoutVersion}, success},
		"it is down":         {seen{ok, down}, success},
		"it refuses to say":  {seen{ok, assumed}, success},
		"it lists no model": {seen{ok, empty}, func(k *Knowledge) {
			success(k)
			k.NoModel = true
		}},
		"it has a model again": {seen{ok, empty, same}, success},
		"a limit that it refused": {seen{Answer{Limits: wire.Limits{Input: 100}}, listed}, func(k *Knowledge) {
			k.Limits, k.OnDemand = wire.Limits{Context: 4096, Input: 100}, true
		}},

		// Fields that it rejects.
		"a field": {seen{rejects(salt)}, func(k *Knowledge) { k.Omit = []wire.Field{salt} }},
		"a field twice, and another": {seen{rejects(salt), rejects(salt, minimum)}, func(k *Knowledge) {
			k.Omit = []wire.Field{salt, minimum}
		}},
		"a field once it has answered": {seen{ok, rejects(salt)}, success},
		"to omit it did not help": {seen{rejects(salt, minimum), refusedAgain}, func(k *Knowledge) {
			k.Omit = []wire.Field{minimum}
		}},
		"to omit it did not help a later probe": {seen{rejects(salt), ok, refusedAgain}, func(k *Knowledge) {
			success(k)
			k.Omit = []wire.Field{salt}
			k.Contradictions = 1
		}},
		"to omit it helped another probe": {seen{rejects(salt), refusedAgain, withoutSalt}, func(k *Knowledge) {
			success(k)
			k.Omit = []wire.Field{salt}
		}},
		"a later answer without a field": {seen{ok, withoutSalt}, success},

		// The length of answers.
		"an answer that ends by itself": {seen{ok}, success},
		"an exact answer": {seen{exact}, func(k *Knowledge) {
			exactly(k)
			k.ExactOutput, k.ContinuousUsage = true, wire.Always
		}},
		"an exact answer without usage in each frame": {seen{uncounted}, exactly},
		"an exact answer of a server that may stop early": {seen{restricted}, func(k *Knowledge) {
			exactly(k)
			k.ContinuousUsage, k.Omit = wire.Always, []wire.Field{ignoreEOS}
		}},
		"usage in each frame of some answers": {seen{exact, uncounted}, func(k *Knowledge) {
			exactly(k)
			k.ExactOutput, k.ContinuousUsage = true, wire.Always
		}},
		"no end":             {seen{Answer{Unlimited: true}, refusal}, func(k *Knowledge) { k.Unlimited = true }},
		"no end, and an end": {seen{Answer{Unlimited: true}, ok}, success},

		// Contradictions.
		"two refusals": {seen{ok, refusal, refusal}, func(k *Knowledge) {
			success(k)
			k.Contradictions = 2
		}},
		"three refusals": {seen{ok, refusal, refusal, refusal}, func(k *Knowledge) {
			success(k)
			k.Contradictions, k.Stale = 3, true
		}},
		"three refusals with an answer between": {seen{ok, refusal, refusal, ok, refusal}, func(k *Knowledge) {
			success(k)
			k.Contradictions = 1
		}},
		"three refusals before it answered": {seen{refusal, refusal, refusal}, func(*Knowledge) {}},
		"three failures": {seen{ok, broken, broken, broken}, func(k *Knowledge) {
			success(k)
			k.MayHaveRestarted = true
		}},
		"a shorter answer than before": {seen{uncounted, short}, func(k *Knowledge) {
			exactly(k)
			k.Contradictions = 1
		}},
		"a shorter answer of a server that was never exact": {seen{ok, short}, success},
		"an answer of unknown length after an exact one":    {seen{uncounted, unknownLength}, exactly},
		"it knows no such path": {seen{ok, missing}, func(k *Knowledge) {
			success(k)
			k.Stale = true
		}},
		"it says the same after contradictions": {seen{exact, missing, same}, func(k *Knowledge) { k.Worked = true }},
		"it does not say after contradictions": {seen{exact, missing, assumed}, func(k *Knowledge) {
			k.Worked = true
			k.Type, k.Version, k.Model = wire.Server{}, "", ""
		}},
		"it lists no model after contradictions": {seen{ok, missing, empty}, func(k *Knowledge) {
			success(k)
			k.Stale, k.NoModel = true, true
		}},
		"it is down after contradictions": {seen{ok, missing, down}, func(k *Knowledge) {
			success(k)
			k.Stale = true
		}},

		// Restarts.
		"a failure": {seen{ok, broken}, func(k *Knowledge) {
			success(k)
			k.MayHaveRestarted = true
		}},
		"a failure and an answer": {seen{broken, ok}, success},

		// Gateways, connections and tokenizers.
		"a gateway that names itself in answers": {seen{viaGateway}, func(k *Knowledge) {
			success(k)
			k.Type, k.Version = gateway, ""
		}},
		"a gateway that does not say what it is": {seen{viaGateway, silent}, func(k *Knowledge) {
			success(k)
			k.Type, k.Version = gateway, ""
		}},
		"an open connection":           {seen{Answer{LeftOpen: true}}, func(k *Knowledge) { k.LeavesOpen = true }},
		"an open connection no longer": {seen{Answer{LeftOpen: true}, refusal}, func(*Knowledge) {}},
		"a tokenizer": {seen{Tokenization{Counts: wire.Always}, Tokenization{}}, func(k *Knowledge) {
			k.Tokenizes = wire.Always
		}},
		"no tokenizer": {seen{Tokenization{Counts: wire.Never}}, func(k *Knowledge) {
			k.Tokenizes = wire.Never
		}},
		"a tokenizer with a limit": {seen{Tokenization{Limits: wire.Limits{Context: 150}}}, func(k *Knowledge) {
			k.Limits.Context = 150
		}},

		// Cached tokens.
		"cached tokens": {seen{counts(false, wire.Tokens(16))}, func(k *Knowledge) {
			success(k)
			k.CacheHit, k.ReportsCached = true, wire.Always
		}},
		"none of a type that counts": {seen{counts(false, wire.Tokens(0))}, func(k *Knowledge) {
			success(k)
			k.ReportsCached = wire.Always
		}},
		"none of a prompt that it knows": {seen{counts(true, wire.Tokens(0))}, func(k *Knowledge) {
			success(k)
			k.CacheMissed, k.ReportsCached = true, wire.Unknown
		}},
		"some after that": {seen{counts(true, wire.Tokens(0)), counts(true, wire.Tokens(16))}, func(k *Knowledge) {
			success(k)
			k.CacheHit, k.ReportsCached = true, wire.Always
		}},
		"none of a type that may not count": {seen{ok, viaCountingGateway}, func(k *Knowledge) {
			success(k)
			k.Type, k.Version, k.ReportsCached = gateway, "", ""
		}},
		"none, and then no count": {seen{counts(false, wire.Tokens(0)), counts(false, wire.Count{})}, func(k *Knowledge) {
			success(k)
			k.ReportsCached = wire.Always
		}},
		"no count": {seen{counts(false, wire.Count{})}, success},
		"a prompt that is new": {seen{prompt(80, usage(90, 0, 0), false)}, func(k *Knowledge) {
			k.Uncached = CountedPrompt{90, 80}
		}},
		"a prompt sent before":  {seen{prompt(80, usage(90, 0, 0), true)}, nothing},
		"a prompt in the cache": {seen{prompt(80, usage(90, 16, 0), false)}, nothing},
		"a prompt cut short":    {seen{prompt(80, usage(71, 0, 0), false)}, nothing},
		"a prompt whose words are joined as far as any": {seen{prompt(80, usage(72, 0, 0), false)}, func(k *Knowledge) {
			k.Uncached = CountedPrompt{72, 80}
		}},
		"counted apart, and then not shown": {seen{Answer{CacheApart: wire.Always}, Answer{}}, func(k *Knowledge) {
			k.CacheApart = wire.Always
		}},

		"a salt that the first prompt to send one learns to leave out": {seen{unsalted, rejects(salt)}, func(k *Knowledge) {
			success(k)
			k.SaltUntried, k.Omit = true, []wire.Field{salt}
		}},
		"no other field then": {seen{unsalted, rejects(minimum)}, func(k *Knowledge) {
			success(k)
			k.SaltUntried = true
		}},
		"a salt that was not what was wrong": {seen{unsalted, rejects(salt), refusedAgain}, func(k *Knowledge) {
			success(k)
			k.SaltUntried, k.Contradictions = true, 1
		}},
		"a salt that it takes": {seen{unsalted, ok, unsalted, rejects(salt)}, success},
		"one prompt that is too long beside others": {seen{ok, tooLong, tooLong, tooLong}, func(k *Knowledge) {
			success(k)
			k.Limits = tooLong.Limits
		}},
	} {
		want := Knowledge{}.After(same)
		got := want
		test.want(&want)
		for _, o := range test.seen {
			got = got.After(o)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(sameDialect), cmp.Comparer(sameType)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func sameDialect(a, b *wire.Dialect) bool { return a == b }

func sameType(a, b wire.Server) bool { return a.Name == b.Name }

// nothing is a change of nothing.
func nothing(*Knowledge) {}

// success changes what is known as a complete answer without any usage does.
func success(k *Knowledge) {
	k.Worked, k.Answered = true, true
	k.ContinuousUsage, k.ReportsCached = wire.Never, wire.Never
}

// exactly changes what is known as a complete answer with exactly the tokens asked for does, of a server that may have
// stopped early.
func exactly(k *Knowledge) {
	success(k)
	k.ExactLimit, k.ReportsCached = true, wire.Always
}

// TestCopiesOfKnowledgeDoNotChangeEachOther holds that what one probe learns is not seen by another that began before.
func TestCopiesOfKnowledgeDoNotChangeEachOther(t *testing.T) {
	first := Knowledge{}.After(Rejection{[]wire.Field{"a", "b", "c"}})
	one := first.After(Rejection{[]wire.Field{"d"}})
	two := first.After(Rejection{[]wire.Field{"e"}})
	if diff := cmp.Diff([]wire.Field{"a", "b", "c", "d"}, one.Omit); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]wire.Field{"a", "b", "c", "e"}, two.Omit); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSuffices holds when a probe needs to ask the server nothing first.
func TestSuffices(t *testing.T) {
	chat := lookup(t, wire.Lookup, "openai-chat")
	for name, test := range map[string]struct {
		known Knowledge
		want  bool
	}{
		"nothing":                   {Knowledge{}, false},
		"no API":                    {Knowledge{Identity: Identity{Model: "m"}}, false},
		"no model":                  {Knowledge{Identity: Identity{Dialect: chat}}, false},
		"no model, but an answer":   {Knowledge{Identity: Identity{Dialect: chat}, Answered: true}, true},
		"API and model":             {Knowledge{Identity: Identity{Dialect: chat, Model: "m"}}, true},
		"API and model, in doubt":   {Knowledge{Identity: Identity{Dialect: chat, Model: "m"}, Stale: true}, false},
		"API and model, and a halt": {Knowledge{Identity: Identity{Dialect: chat, Model: "m"}, MayHaveRestarted: true}, true},
	} {
		if got := test.known.Suffices(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestMayBeOther holds which answers may be of another server.
func TestMayBeOther(t *testing.T) {
	for name, test := range map[string]struct {
		known  Knowledge
		answer Answer
		want   bool
	}{
		"as before":               {Knowledge{AnsweredBy: "m"}, Answer{OK: true, Model: "m"}, false},
		"another name":            {Knowledge{AnsweredBy: "m"}, Answer{OK: true, Model: "other"}, true},
		"no name":                 {Knowledge{AnsweredBy: "m"}, Answer{OK: true}, false},
		"the first name":          {Knowledge{}, Answer{OK: true, Model: "m"}, false},
		"after a failure":         {Knowledge{MayHaveRestarted: true}, Answer{OK: true}, true},
		"a failure after another": {Knowledge{MayHaveRestarted: true}, Answer{Ended: true}, false},
	} {
		if got := test.known.MayBeOther(test.answer); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
