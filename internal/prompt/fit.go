package prompt

import "math"

// attempts bounds how often a fit changes the size before it takes the best.
const attempts = 8

// A fit finds the size, in words, that a server counts as the tokens asked for.
// A word is nearly always one token, so the count is close to base + slope·size,
// and two or three counts are enough.
type fit struct {
	want    int
	tried   []observation
	settled bool
	cut     bool // the server does not count all that it is sent
	usage   bool // the usage of an answer agreed with what was settled
	best    observation
}

// observation is what a server counted for a size.
type observation struct{ size, tokens int }

func newFit(want int) fit { return fit{want: want} }

// next is the size to write now, and the tokens it should count, if that is
// settled.
func (f *fit) next() (size, want int, settled bool) {
	switch {
	case f.cut:
		return f.best.size, f.want, true
	case f.settled:
		return f.best.size, f.best.tokens, true
	case len(f.tried) == 0:
		return max(1, f.want-overhead), f.want, false
	}
	return f.guess(), f.want, false
}

// observe takes a count. One that contradicts what was settled starts anew: the
// server's tokenizer or template is another one now.
func (f *fit) observe(size, tokens int) {
	if f.settled || f.cut {
		if size != f.best.size || f.settled && tokens == f.best.tokens || f.cut && tokens < f.want {
			return
		}
		*f = newFit(f.want)
	}
	if f.seen(size) {
		return
	}
	f.tried = append(f.tried, observation{size, tokens})
	f.settle()
}

// confirm takes the count of an answer's usage.
func (f *fit) confirm(size, tokens int) {
	f.usage = f.usage || f.settled && f.best == observation{size, tokens}
}

// held reports whether another count than the settled one is wrong.
func (f *fit) held() bool { return f.cut || f.usage }

// settle decides whether more tries would help.
func (f *fit) settle() {
	f.best = f.tried[0]
	for _, o := range f.tried {
		if distance(o.tokens, f.want) < distance(f.best.tokens, f.want) {
			f.best = o
		}
	}
	if f.cut = f.stuck(); f.cut {
		f.best = f.tried[0]
		return
	}
	f.settled = f.best.tokens == f.want || len(f.tried) >= attempts || f.seen(f.guess())
}

// stuck reports whether the server counted the same, too few, tokens for a
// longer prompt.
func (f *fit) stuck() bool {
	n := len(f.tried)
	if n < 2 {
		return false
	}
	last, before := f.tried[n-1], f.tried[n-2]
	return last.size > before.size && last.tokens <= before.tokens && last.tokens < f.want
}

// guess is the size that should count as asked, from the last two counts.
func (f *fit) guess() int {
	last := f.tried[len(f.tried)-1]
	slope := f.slope()
	size := last.size + int(math.Round(float64(f.want-last.tokens)/slope))
	return min(max(1, size), 4*f.want+overhead)
}

// slope is the tokens that a word costs.
func (f *fit) slope() float64 {
	last := f.tried[len(f.tried)-1]
	ratio := float64(last.tokens) / float64(last.size+overhead)
	if len(f.tried) > 1 {
		before := f.tried[len(f.tried)-2]
		ratio = float64(last.tokens-before.tokens) / float64(last.size-before.size)
	} else if ratio > 0.8 && ratio < 1.25 {
		ratio = 1
	}
	return max(0.25, ratio)
}

func (f *fit) seen(size int) bool {
	for _, o := range f.tried {
		if o.size == size {
			return true
		}
	}
	return false
}

// off is by how many tokens the settled size differs from what was asked.
func (f *fit) off() (tokens int, known bool) {
	return f.best.tokens - f.want, f.settled || f.cut
}

func distance(a, b int) int { return max(a-b, b-a) }
