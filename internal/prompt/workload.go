package prompt

import "fmt"

// A workload writes the prompts of a [Workload]. The implementations hold no state that changes.
type workload interface {
	// slot returns the shape of a round's prompt, with which it shares a calibration, and its nonce.
	slot(round uint64) (shape int, nonce uint64)
	// start returns what the calibration of a shape starts from. Before are the results of the rounds that its
	// prompt begins with.
	start(shape int, before []observation) calibrationStart
	// render writes the text of a prompt, and what else its workload gives it. History is the size of the shape,
	// after those of the rounds that its prompt begins with.
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

// unshared returns how many of a prompt's words stand behind those that another prompt may begin with, too. The words
// are shuffled: six may be the same by chance, and seven are in one of 10¹² pairs.
func unshared(words int) int { return max(0, words-6) }

// salt returns what keeps a prompt apart from all others in caches that take a salt.
func salt(seed, nonce uint64) string { return fmt.Sprintf("prober-%016x-%x", seed, nonce) }
