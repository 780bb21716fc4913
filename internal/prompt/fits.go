package prompt

import "slices"

// remembered is how many shapes have a fit at a time: passages of a long book
// are forgotten, the first that were asked first.
const remembered = 1024

// fits are the fits of a workload's shapes.
type fits struct {
	author  author
	chained bool // the prompt of a shape begins with those of the shapes before it
	known   map[int]*fit
	order   []int // the shapes in known, oldest first
	made    int   // fits ever made: their versions
	last    observation
}

func newFits(a author, chained bool) *fits {
	return &fits{author: a, chained: chained, known: map[int]*fit{}}
}

// at returns the fit of a shape.
func (fs *fits) at(shape int) *fit {
	if f, ok := fs.known[shape]; ok {
		return f
	}
	begin := fs.author.begin(shape, fs)
	if len(fs.order) == remembered {
		delete(fs.known, fs.order[0])
		fs.order = slices.Delete(fs.order, 0, 1)
	}
	fs.made++
	f := newFit(begin)
	f.version = fs.made
	fs.known[shape] = &f
	fs.order = append(fs.order, shape)
	return &f
}

// history returns the sizes to write a prompt of a shape with, and whether all
// of them are settled. Tokens are 0 where they are not.
func (fs *fits) history(shape int) (sizes []observation, settled bool) {
	first := shape
	if fs.chained {
		first = 0
	}
	settled = true
	for i := first; i <= shape; i++ {
		f := fs.at(i)
		next, tokens := observation{size: f.next()}, f.known()
		if tokens {
			next.tokens = f.best.tokens
		}
		sizes, settled = append(sizes, next), settled && tokens
	}
	return sizes, settled
}

// of returns the fit that wrote a prompt of a size, if it is still the one and
// the size can teach it something: that of a chain cannot before those ahead of
// it are settled.
func (fs *fits) of(s Size) (f *fit, ok bool) {
	f, ok = fs.known[s.shape]
	if !ok || f.version != s.version || f.want == 0 {
		return nil, false
	}
	if fs.chained && s.shape > 0 {
		_, ok = fs.history(s.shape - 1)
	}
	return f, ok
}

// learn takes a count.
func (fs *fits) learn(s Size, tokens int) {
	fs.change(s, func(f *fit) { f.observe(s.size, tokens) })
}

// refuse takes that the server would not answer.
func (fs *fits) refuse(s Size) {
	fs.change(s, func(f *fit) { f.refuse(s.size) })
}

// confirm takes the count of an answer's usage.
func (fs *fits) confirm(s Size, tokens int) {
	if f, ok := fs.of(s); ok {
		f.confirm(s.size, tokens)
	}
}

// change changes a fit. What follows it in a chain begins anew if its settled
// size is another one now.
func (fs *fits) change(s Size, by func(*fit)) {
	f, ok := fs.of(s)
	if !ok {
		return
	}
	was, known := f.best.size, f.known()
	by(f)
	if f.known() {
		fs.last = f.best
	}
	if !fs.chained || known == f.known() && (!known || was == f.best.size) {
		return
	}
	fs.order = slices.DeleteFunc(fs.order, func(shape int) bool {
		if shape > s.shape {
			delete(fs.known, shape)
		}
		return shape > s.shape
	})
}

// off is the largest difference between what is counted and what was asked.
// known is false if the shapes of a chain are not all settled, or none is.
func (fs *fits) off(shapes int) (tokens int, known bool) {
	fs.at(0) // that of a data set is settled before it was ever asked
	settled := 0
	for _, shape := range fs.order {
		by, ok := fs.known[shape].off()
		if !ok {
			continue
		}
		settled++
		if distance(by, 0) > distance(tokens, 0) {
			tokens = by
		}
	}
	return tokens, settled >= shapes
}
