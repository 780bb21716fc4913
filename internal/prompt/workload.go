package prompt

import "fmt"

// A workload writes the prompts of a [Workload]. The implementations hold no state that changes.
type workload interface {
	// slot returns the shape and the nonce of a round's prompt. Prompts of the same shape have the same length, and
	// share a calibration; the nonce makes them differ.
	slot(round uint64) (shape int, nonce uint64)
	// start returns what the calibration of a shape starts from. A prompt of the shape begins with earlier rounds of a
	// session; before holds their sizes and counts.
	start(shape int, before []observation) calibrationStart
	// render sets the text of a prompt and the other fields that depend on the workload. The last of history is the
	// size of the prompt's shape; before it are those of the earlier rounds that the prompt begins with.
	render(p *Prompt, nonce uint64, history []observation)
}

// list is the workloads cold and warm. Each cold prompt has the words in an order of its own, since a prefix cache
// compares from the beginning.
type list struct{ Options }

func (l list) slot(round uint64) (shape int, nonce uint64) { return 0, round }

func (l list) start(int, []observation) calibrationStart { return startOf(l.Tokens, 1) }

func (l list) render(p *Prompt, nonce uint64, history []observation) {
	end, _ := tailFor(l.Tokens)
	if l.Workload == Warm {
		p.Text = textOf(history[0].size, 0, 0, end)
		return
	}
	p.Salt = salt(l.Seed, nonce)
	p.Text = textOf(history[0].size, l.Seed, nonce, end)
}

// unshared returns how many words of a prompt certainly follow the part with which another prompt begins as well. The
// words are shuffled: six may be the same by chance, and seven are in one of 10¹² pairs.
func unshared(words int) int { return max(0, words-6) }

// salt returns a text that is unlike that of any other prompt, for caches that take a salt.
func salt(seed, nonce uint64) string { return fmt.Sprintf("prober-%016x-%x", seed, nonce) }
