// Package prompt writes deterministic text of a given size. It is pure: it knows no server, and not how a server counts
// the text. Start reading at [Write].
package prompt

import (
	"fmt"

	"github.com/llm-prober/prober/internal/wire"
)

// A Workload is a way to ask. The set is closed: it is a metric label.
type Workload string

// The workloads.
const (
	Cold     Workload = "cold"     // every prompt begins with other words, so that no prefix cache can serve it
	Warm     Workload = "warm"     // the same prompt each time
	Sessions Workload = "sessions" // users whose questions follow a growing history, which a prefix cache can serve
	Dataset  Workload = "dataset"  // prompts of a file, of the file's own lengths
	Canary   Workload = "canary"   // a cold prompt with words in it that the answer must repeat
	Tool     Workload = "tool"     // a cold prompt that asks for one call of a function
	JSON     Workload = "json"     // a cold prompt that asks for JSON by a schema
)

// Options say what is written. Fields of other workloads are ignored. The data set is only read.
type Options struct {
	Workload Workload
	Tokens   int    // exact length of a prompt, at least 1; of sessions, of a user's first one
	Answer   int    // sessions: tokens of each answer, at least 1
	Seed     uint64 // makes prompts differ from those of other runs and groups; warm and dataset do not depend on it

	Users  int // sessions: concurrent users, at least 1
	Rounds int // sessions: questions of a user, 1 to 1000
	System int // sessions: about the tokens of the system prompt that all users share, at least 0 and below Tokens

	Dataset [][]wire.Turn // dataset: the prompts, as ParseDataset returned them
	Depths  []float64     // canary: how much of the words stands before code words, 0 to 1: 1 to 10 of them, ascending
}

// Longest returns the length of the longest prompt in tokens, of sessions about; 0 for a data set.
func (o Options) Longest() int {
	switch o.Workload {
	case Sessions:
		return o.Tokens + (o.Rounds-1)*(o.Answer+QuestionTokens)
	case Dataset:
		return 0
	}
	return o.Tokens
}

// Mean returns the mean length of a prompt in tokens; of a data set, whose tokens are not known in advance, in words.
func (o Options) Mean() int {
	if o.Workload != Dataset {
		return (o.Tokens + o.Longest()) / 2
	}
	words := 0
	for _, turns := range o.Dataset {
		words += Prompt{Turns: turns}.words()
	}
	return words / max(1, len(o.Dataset))
}

// Exact reports whether the prompt of a round is to be exactly [Options.Tokens] long. Those of a data set have their
// own lengths, and the later ones of a session grow by about an answer and a question.
func (o Options) Exact(round uint64) bool {
	switch o.Workload {
	case Dataset:
		return false
	case Sessions:
		_, question := o.turnOf(round)
		return question == 0
	}
	return true
}

// UsualSize returns the size of a prompt that is as long as asked if a word is a token, with the usual chat template.
func (o Options) UsualSize() Size {
	overhead := 40 // tokens of the tail and the chat template, about
	if o.Tokens < shortPrompt {
		overhead = 10
	}
	return Size{Words: max(o.LeastWords(), o.Tokens-overhead)}
}

// LeastWords returns the fewest words that a prompt can have, 1 or more.
func (o Options) LeastWords() int {
	switch o.Workload {
	case Sessions:
		return 2 // one may be the system prompt
	case Canary:
		return o.codeWordCount()
	case Tool, JSON:
		return 2 // the values
	}
	return 1
}

// A Size is how long a prompt is: a number of words of the list, and of pads, which cost the least there is. Prompts
// of a size are made of the same words, only their order differs. Tokenizers split text at white space before anything
// else, so they all count the same, and an exact size stays exact. Of sessions it is the size of a user's first prompt.
type Size struct{ Words, Pads int }

// A Prompt is one text, and what is known of it without a tokenizer.
type Prompt struct {
	Turns   []wire.Turn // the conversation before Text; empty but for sessions and data sets
	Text    string      // what the user says now
	Salt    string      // keeps prompts apart in caches that take a salt; empty where the cache is meant to serve
	Session string      // who asks, for routers that keep a user on one server; empty but for sessions
	Form    *wire.Form  // that the answer must have; nil: any text
	Code    []string    // canary: at each of its depths, words that the answer must hold next to each other

	// Values are what the JSON of the answer must have, by field: texts, and true or false. Nil for other workloads.
	Values map[string]any

	Tokens      int // about this many, if the size is right; 0 for a data set: not known
	Words       int // white-space separated words of Turns and Text: tokens are at least about as many
	Uncacheable int // at least this many tokens cannot be in a prefix cache; 0 where a warm cache is meant

	// Where a warm cache is meant: how many of Words, from the first one on, are in all prompts, and how many were in an
	// earlier prompt of the same user as well. The second include the first, and are 0 if there was no earlier one.
	Shared, Repeated int
}

// Write returns the prompt of a round, which is the same each time.
func Write(o Options, round uint64, s Size) Prompt {
	switch o.Workload {
	case Dataset:
		return datasetPrompt(o, round)
	case Sessions:
		user, question := o.turnOf(round)
		return write(o, user, question, s)
	}
	return write(o, round, 0, s)
}

// Trial returns a prompt of a size that is only sent to be counted. Prompts of other numbers differ, but for the
// workload warm, and none is that of a round: a server may cache what it counts. There is none of a data set.
func Trial(o Options, number uint64, s Size) Prompt {
	nonce := ^number // rounds and users go up from 0, and never reach these
	return write(o, nonce, 0, s)
}

// write writes a prompt of a size that is unlike those of other nonces. The nonce of sessions is the user, who has
// asked that many questions before; other workloads have only a first question.
func write(o Options, nonce uint64, question int, s Size) Prompt {
	var p Prompt
	switch o.Workload {
	case Sessions:
		p = sessionPrompt(o, nonce, question, s)
	case Canary:
		p = canaryPrompt(o, nonce, s)
	case Tool, JSON:
		p = formPrompt(o, nonce, s)
	default:
		p = listPrompt(o, nonce, s)
	}
	p.Words = p.words()
	if o.Workload == Warm {
		p.Repeated = p.Words
	}
	if p.Salt != "" && p.Session == "" {
		// The words after the head are shuffled: six may be as in another prompt by chance, and seven are in one of
		// 10¹² pairs.
		p.Uncacheable = max(0, p.Words-countFields(listHead)-6)
	}
	return p
}

func (p Prompt) words() int {
	n := countFields(p.Text)
	for _, turn := range p.Turns {
		n += countFields(turn.Text)
	}
	return n
}

// listPrompt writes a prompt of the workloads cold and warm. Each cold prompt has the words in an order of its own,
// since a prefix cache compares from the beginning.
func listPrompt(o Options, nonce uint64, s Size) Prompt {
	p := Prompt{Tokens: o.Tokens}
	tail := tailFor(o.Tokens)
	if o.Workload == Warm {
		p.Text = textOf(s, 0, 0, tail)
		return p
	}
	p.Salt = salt(o.Seed, nonce)
	p.Text = textOf(s, o.Seed, nonce, tail)
	return p
}

// salt returns a text that is unlike that of any other prompt, for caches that take a salt.
func salt(seed, nonce uint64) string { return fmt.Sprintf("prober-%016x-%x", seed, nonce) }
