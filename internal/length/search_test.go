package length

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/llm-prober/prober/internal/prompt"
)

// A server counts the tokens of a text, and adds some for each turn of a conversation.
type server struct {
	name  string
	count func(text string) int
	turn  int
	off   int // by how much a prompt may be off, since nothing costs one token
}

// tokens returns what the server counts for a prompt.
func (s server) tokens(p prompt.Prompt) int {
	n := s.count(p.Text) + s.turn
	for _, turn := range p.Turns {
		n += s.count(turn.Text) + s.turn
	}
	return n
}

// pieces returns a tokenizer that cuts words into pieces of at most that many letters, and takes each sign for a token
// of its own, as real ones do.
func pieces(letters int) func(text string) int {
	return func(text string) int {
		n := 0
		for word := range strings.FieldsSeq(text) {
			plain := strings.TrimFunc(word, unicode.IsPunct)
			n += (len(plain)+letters-1)/letters + len(word) - len(plain)
		}
		return n
	}
}

// perWord returns a tokenizer for which each word is that many tokens.
func perWord(tokens int) func(text string) int {
	return func(text string) int { return tokens * len(strings.Fields(text)) }
}

// perToken returns a tokenizer for which that many characters are a token. A rest is none.
func perToken(characters int) func(text string) int {
	return func(text string) int { return len(text) / characters }
}

var (
	tokenAWord   = server{name: "a token a word", count: pieces(100)}
	chatTemplate = server{name: "a template of 11 tokens a turn", count: pieces(100), turn: 11}
	eightLetters = server{name: "words cut at eight letters", count: pieces(8), turn: 5}
	sixLetters   = server{name: "words cut at six letters", count: pieces(6), turn: 5}
	threeLetters = server{name: "words cut at three letters", count: pieces(3), turn: 1}
	roundedUp    = server{
		name:  "a token for three characters, rounded up",
		count: func(text string) int { return (len(text) + 2) / 3 },
		turn:  5,
	}

	servers = []server{
		tokenAWord, chatTemplate, eightLetters, sixLetters, threeLetters, roundedUp,
		{name: "every word two tokens", count: perWord(2), turn: 5, off: 1},
		{name: "a token for four characters", count: perToken(4), turn: 5},
		{name: "five tokens a word", count: perWord(5), turn: 4, off: 4},
		{name: "a token a letter", count: perToken(1), turn: 9, off: 1},
	}
)

// ofEachWorkload returns options for prompts of a length, of each workload that has one.
func ofEachWorkload(tokens int) []prompt.Options {
	return []prompt.Options{
		{Workload: prompt.Cold, Tokens: tokens, Seed: 7},
		{Workload: prompt.Warm, Tokens: tokens, Seed: 7},
		{Workload: prompt.Sessions, Tokens: tokens, Seed: 7, Answer: 100, Users: 2, Rounds: 3, System: tokens / 20},
		{Workload: prompt.Tool, Tokens: tokens, Seed: 7},
		{Workload: prompt.JSON, Tokens: tokens, Seed: 7},
		{Workload: prompt.Canary, Tokens: tokens, Seed: 7, Depths: []float64{0.5}},
		{Workload: prompt.Canary, Tokens: tokens, Seed: 7, Depths: []float64{0, 0.25, 0.5, 0.75, 1}},
	}
}

// A searched is what came of a search.
type searched struct {
	finding
	counts  int // prompts that the server counted
	longest int // tokens of the longest of them
}

// search has a server count prompts until their size is found.
func (s server) search(t *testing.T, o prompt.Options) searched {
	t.Helper()
	var got searched
	found, err := find(o, func(size prompt.Size) (int, error) {
		tokens := s.tokens(prompt.Trial(o, uint64(got.counts), size))
		got.counts++
		got.longest = max(got.longest, tokens)
		return tokens, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got.finding = found
	return got
}

// expectExact expects that a server counts the prompts of some rounds as long as asked, and as long as was found.
// Nothing is shorter than the least words of a prompt.
func (s server) expectExact(t *testing.T, o prompt.Options, found finding) {
	t.Helper()
	shortest := s.tokens(prompt.Trial(o, 0, prompt.Size{Words: o.LeastWords()}))
	for round := range uint64(4) {
		if !o.Exact(round) {
			continue
		}
		tokens := s.tokens(prompt.Write(o, round, found.size))
		if tokens != found.tokens {
			t.Errorf("round %d: %d tokens, said to have %d", round, tokens, found.tokens)
		}
		if distance(tokens, o.Tokens) > s.off && tokens != shortest {
			t.Errorf("round %d: %d tokens, asked %d", round, tokens, o.Tokens)
		}
	}
}

// TestEveryWorkloadIsExact holds that prompts have the tokens asked for after few counts. No guess of a long prompt is
// longer than that, which may be all that the server's context holds; a canary's words are bounded by its sentences.
func TestEveryWorkloadIsExact(t *testing.T) {
	all := []prompt.Workload{prompt.Cold, prompt.Warm, prompt.Sessions, prompt.Canary, prompt.Tool, prompt.JSON}
	for _, test := range []struct {
		tokens    int
		workloads []prompt.Workload
		servers   []server
	}{
		{80, all, servers},
		{700, all, servers},
		{1000, all, servers},
		{4000, all, servers},
		{21000, all[:1], servers},
		{21000, all[1:], []server{chatTemplate, threeLetters, roundedUp}}, // others take long
		{128000, []prompt.Workload{prompt.Cold, prompt.Sessions}, []server{threeLetters}},
	} {
		for _, o := range ofEachWorkload(test.tokens) {
			if !slices.Contains(test.workloads, o.Workload) {
				continue
			}
			for _, s := range test.servers {
				t.Run(fmt.Sprintf("%s of %d at %v by %s", o.Workload, o.Tokens, o.Depths, s.name), func(t *testing.T) {
					got := s.search(t, o)
					s.expectExact(t, o, got.finding)
					if most := maxWordTrials + maxPadTrials; got.counts > most {
						t.Errorf("%d counts, want at most %d", got.counts, most)
					}
					if o.Tokens >= 700 && o.Workload != prompt.Canary && got.longest > o.Tokens {
						t.Errorf("a guess of %d tokens", got.longest)
					}
				})
			}
		}
	}
}

// TestShortPromptsAreExact goes through the lengths at which the last sentence, pads and single words matter.
func TestShortPromptsAreExact(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	for tokens := 16; tokens <= 300; tokens++ {
		for _, workload := range []prompt.Workload{prompt.Cold, prompt.Warm, prompt.Canary} {
			for _, s := range servers {
				o := prompt.Options{Workload: workload, Tokens: tokens, Seed: 1, Depths: []float64{1}}
				s.expectExact(t, o, s.search(t, o).finding)
				if t.Failed() {
					t.Fatalf("%s of %d by %s", workload, tokens, s.name)
				}
			}
		}
	}
}

// TestSessionsGrow holds that the later prompts of a session grow by about an answer and a question, whatever a word
// costs.
func TestSessionsGrow(t *testing.T) {
	o := prompt.Options{Workload: prompt.Sessions, Tokens: 2000, Seed: 7, Answer: 200, Users: 4, Rounds: 20, System: 100}
	for _, s := range []server{tokenAWord, chatTemplate, eightLetters, sixLetters, threeLetters, roundedUp} {
		size := s.search(t, o).size
		before := s.tokens(prompt.Write(o, 0, size))
		for question := 1; question < o.Rounds; question++ {
			tokens := s.tokens(prompt.Write(o, uint64(question*o.Users), size))
			about := o.Answer + prompt.QuestionTokens
			if grows := tokens - before; grows < about*2/3 || grows > about*4/3 {
				t.Errorf("%s: question %d adds %d tokens, want about %d", s.name, question, grows, about)
			}
			before = tokens
		}
	}
}

// TestAServerThatCutsPrompts holds that the prompts for it stay as long as asked.
func TestAServerThatCutsPrompts(t *testing.T) {
	o := prompt.Options{Workload: prompt.Cold, Tokens: 21000, Seed: 3}
	longest := 0
	found, err := find(o, func(size prompt.Size) (int, error) {
		longest = max(longest, size.Words)
		return min(4096, chatTemplate.tokens(prompt.Trial(o, 0, size))), nil
	})
	if err != nil || !found.cut || found.tokens != 4096 || found.size.Words < 4096 || longest > 21000 {
		t.Errorf("found %+v, with a prompt of %d words (%v)", found, longest, err)
	}
}

// TestCountsThatAreNone holds that a server which counts nothing, or something else, is recognized, and that the error
// of a count ends the search.
func TestCountsThatAreNone(t *testing.T) {
	o := prompt.Options{Workload: prompt.Cold, Tokens: 21000, Seed: 3}
	gone := errors.New("gone")
	for _, test := range []struct {
		tokens int
		err    error
		want   error
	}{{0, nil, errUncounted}, {10, nil, errUncounted}, {0, gone, gone}} {
		_, err := find(o, func(prompt.Size) (int, error) { return test.tokens, test.err })
		if !errors.Is(err, test.want) {
			t.Errorf("%d tokens, %v: %v", test.tokens, test.err, err)
		}
	}
}

// TestWhenAServerCuts holds how few tokens more words may count before the server is taken for one that cuts prompts:
// half of what the shorter prompts predict.
func TestWhenAServerCuts(t *testing.T) {
	for grows, want := range map[int]bool{0: true, 450: true, 499: true, 500: false, 550: false, 1000: false} {
		s := search{want: 2000, trials: []trial{
			{prompt.Size{Words: 125}, 400}, {prompt.Size{Words: 250}, 525}, {prompt.Size{Words: 1250}, 525 + grows},
		}}
		if got := s.isCut(); got != want {
			t.Errorf("1,000 words more count %d tokens more: cut %t, want %t", grows, got, want)
		}
	}
}
