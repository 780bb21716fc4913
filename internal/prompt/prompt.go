// Package prompt writes deterministic text that a server counts as an exact number of tokens. It knows no server.
package prompt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/wire"
)

// A Workload is a way to ask. The set is closed: it is a metric label.
type Workload string

// The workloads.
const (
	Cold     Workload = "cold"     // every prompt begins with other words, so that no prefix cache can serve it
	Warm     Workload = "warm"     // the same prompt each time
	Sessions Workload = "sessions" // users who go on with a growing history, which a prefix cache can serve
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

// Longest is the length of the longest prompt in tokens; 0 for a data set.
func (o Options) Longest() int {
	switch o.Workload {
	case Sessions:
		return o.Tokens + (o.Rounds-1)*(o.Answer+QuestionTokens)
	case Dataset:
		return 0
	}
	return o.Tokens
}

// Mean is the mean length of a prompt in tokens; of a data set, whose tokens are not known in advance, in words.
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

	Fresh int  // at least so many tokens cannot be in a prefix cache; 0 where a warm cache is meant
	Size  Size // for [Writer.Learn], with the tokens that the server counted

	Tokens     int  // that the server should count: what was asked if it does not count all that it is sent; 0: not known
	Calibrated bool // its length was counted: else it is an estimate
	Confirmed  bool // the usage of an answer has confirmed Tokens
	Truncated  bool // the server was seen to cut prompts that are shorter than this
}

func (p Prompt) words() int {
	n := fields(p.Text)
	for _, turn := range p.Turns {
		n += fields(turn.Text)
	}
	return n
}

// A Size is the writer's own measure of a prompt. It means nothing to others, but prompts of [Writer.Calibrate] with the
// same one count the same as long as nothing is calibrated again.
type Size struct {
	shape  int
	trial  size    // of a prompt that is only counted
	length *length // learns from the prompt's count; nil for none
}

// An author writes the prompts of a workload. Authors hold no state that changes.
type author interface {
	// place returns the shape of a round's prompt, with which it shares a calibration, and its nonce.
	place(round uint64) (shape int, nonce uint64)
	// begin returns what the calibration of a shape starts from. Before are the results of the rounds that its
	// prompt begins with.
	begin(shape int, before []observation) terms
	// write writes the text of a prompt, and what else its workload gives it. History is the size of the shape,
	// after those of the rounds that its prompt begins with.
	write(p *Prompt, nonce uint64, history []observation)
}

// list is cold and warm: words in an order of their own, since a prefix cache compares from the beginning.
type list struct{ Options }

func (l list) place(round uint64) (shape int, nonce uint64) { return 0, round }

func (l list) begin(int, []observation) terms { return plainTerms(l.Tokens, 1) }

func (l list) write(p *Prompt, nonce uint64, history []observation) {
	end, _ := ending(l.Tokens)
	if l.Workload == Warm {
		p.Text = listed(history[0].size, 0, 0, end)
		return
	}
	p.Salt, p.Text = salt(l.Seed, nonce), listed(history[0].size, l.Seed, nonce, end)
}

// unshared is how many of some words, the first of them shuffled, stand behind those that another prompt
// may begin with, too. Six may be the same by chance: seven are in one of 10¹² pairs.
func unshared(words int) int { return max(0, words-6) }

func salt(seed, nonce uint64) string { return fmt.Sprintf("prober-%016x-%x", seed, nonce) }

// canary is cold, with three code words in it that the answer must repeat: a server that lost a part of the prompt
// cannot. They are taken out of the words that the prompt is made of, so that it counts the same whichever they are.
type canary struct{ list }

const (
	candidates = 32 // words of the list, the first ones, that can be code words
	codeWords  = 3  // of a prompt

	codeStart  = " The code words are:"
	codeEnd    = " and no others." // no full stop at a code word: some tokenizers would count it with the word
	canaryTail = "\n\nWhat are the code words? Answer with the three code words first." +
		" Then count upwards from one in English words, separated by single spaces, and do not stop."
)

func (c canary) begin(int, []observation) terms { return plainTerms(c.Tokens, codeWords) }

func (c canary) write(p *Prompt, nonce uint64, history []observation) {
	s := history[0].size
	order := shuffled(s.words, c.Seed, nonce)
	code := make([]byte, codeWords) // places in the list
	for i, at := range rand.New(rand.NewPCG(^c.Seed, nonce)).Perm(min(len(order), candidates))[:codeWords] {
		code[i] = byte(at)
		first := slices.Index(order, code[i])
		order = slices.Delete(order, first, first+1)
	}
	at := int(math.Round(c.Depth * float64(len(order))))
	p.Salt, p.Expect = salt(c.Seed, nonce), strings.TrimPrefix(spaced("", code, ""), " ")
	p.Text = spaced(head, order[:at], codeStart) + spaced("", code, codeEnd) +
		spaced("", order[at:], strings.Repeat(pad, s.pads)+canaryTail)
}
