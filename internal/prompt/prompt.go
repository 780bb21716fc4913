// Package prompt writes deterministic text that a server counts as an exact number of tokens. It knows no server.
//
// It takes [Options], the number of a round, and a function that counts the tokens of a text as the server does. It
// returns the [Prompt] of the round. A [Writer] ties two parts together: a workload renders the text (workload.go,
// canary.go, sessions.go, dataset.go), and a calibration finds how many words make the tokens that were asked for
// (calibration.go). Start reading at the example there.
package prompt

import "github.com/llm-prober/prober/internal/wire"

// A Workload is a way to ask. The set is closed: it is a metric label.
type Workload string

// The workloads.
const (
	Cold     Workload = "cold"     // every prompt begins with other words, so that no prefix cache can serve it
	Warm     Workload = "warm"     // the same prompt each time
	Sessions Workload = "sessions" // users whose questions follow a growing history, which a prefix cache can serve
	Dataset  Workload = "dataset"  // prompts of a file, of the file's own lengths
	Canary   Workload = "canary"   // a cold prompt with three words in it that the answer must repeat
)

// Options say what a [Writer] writes. Fields of other workloads are ignored. Dataset is only read.
type Options struct {
	Workload Workload
	Tokens   int    // exact length of a prompt, at least 1; of a session's first round
	Answer   int    // sessions: tokens of each answer, at least 1
	Seed     uint64 // makes prompts differ from those of other runs and groups; warm and dataset do not depend on it

	Users  int // sessions: concurrent users, at least 1
	Rounds int // sessions: questions of a user, 1 to 1000
	System int // sessions: about the tokens of the system prompt that all users share, at least 0 and below Tokens

	Dataset [][]wire.Turn // dataset: the prompts, as ParseDataset returned them
	Depth   float64       // canary: how much of the words stands before the code words, 0 to 1
}

// Longest returns the length of the longest prompt in tokens; 0 for a data set.
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

// A Prompt is one text, and how long it should be.
type Prompt struct {
	Turns   []wire.Turn // the conversation before Text; empty but for sessions and datasets
	Text    string      // what the user says now
	Salt    string      // keeps prompts apart in caches that take a salt; empty where the cache is meant to serve
	Session string      // who asks, for routers that keep a user on one server; empty but for sessions
	Expect  string      // words that the answer must hold next to each other; empty if any answer will do

	Asked int // tokens that were asked for; 0: any length
	Words int // white-space separated words of Turns and Text: tokens are at least about as many

	Fresh int  // so many tokens at least cannot be in a prefix cache; 0 where a warm cache is meant
	Size  Size // for [Writer.Learn], with the tokens that the server counted

	Tokens     int  // what the server should count: Asked if it cuts such prompts; 0 if nobody has counted them
	Calibrated bool // its length was counted; otherwise it is an estimate
	Confirmed  bool // the usage of an answer has confirmed Tokens
	Truncated  bool // the server was seen to cut shorter prompts than this one
}

// words returns the number of white-space separated words of the whole conversation.
func (p Prompt) words() int {
	n := countFields(p.Text)
	for _, turn := range p.Turns {
		n += countFields(turn.Text)
	}
	return n
}

// A Size is the writer's own measure of a prompt. It means nothing to others, but prompts of [Writer.Calibrate] with
// the same one count the same as long as nothing is calibrated again.
type Size struct {
	shape  int
	trial  size    // of a prompt that is only counted
	length *length // learns from the prompt's count; nil for none
}
