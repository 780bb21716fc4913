package prompt

import "slices"

// remembered is how many shapes have a calibration at a time: of a long book, the passages asked first are
// forgotten first.
const remembered = 1024

// Calibrations are those of a workload's shapes.
type calibrations struct {
	author  author
	chained bool // the prompt of a shape begins with those of the shapes before it
	known   map[int]*calibration
	order   []int // the shapes in known, oldest first
	made    int   // calibrations ever made: their versions
	last    observation
}

// at returns the calibration of a shape.
func (cs *calibrations) at(shape int) *calibration {
	if c, ok := cs.known[shape]; ok {
		return c
	}
	begin := cs.author.begin(shape, cs)
	if len(cs.order) == remembered {
		delete(cs.known, cs.order[0])
		cs.order = slices.Delete(cs.order, 0, 1)
	}
	cs.made++
	c := &calibration{terms: begin, version: cs.made, done: begin.want == 0}
	cs.known[shape], cs.order = c, append(cs.order, shape)
	return c
}

// history returns the sizes to write a prompt of a shape with, and whether all of them are calibrated.
// Tokens are 0 where they are not.
func (cs *calibrations) history(shape int) (sizes []observation, calibrated bool) {
	first := shape
	if cs.chained {
		first = 0
	}
	calibrated = true
	for i := first; i <= shape; i++ {
		c := cs.at(i)
		o := observation{size: c.next()}
		if c.done {
			o.tokens = c.best.tokens
		}
		sizes, calibrated = append(sizes, o), calibrated && c.done
	}
	return sizes, calibrated
}

// change changes the calibration that wrote a prompt of a size, if it is still in use and the size can
// teach it something: in a chain, the shapes before it must be calibrated. Those after it start again if
// its result is another one now.
func (cs *calibrations) change(s Size, by func(*calibration)) {
	c, ok := cs.known[s.shape]
	if !ok || c.version != s.version || c.want == 0 {
		return
	}
	if cs.chained && s.shape > 0 {
		if _, calibrated := cs.history(s.shape - 1); !calibrated {
			return
		}
	}
	was, done := c.best.size, c.done
	by(c)
	if c.done {
		cs.last = c.best
	}
	if !cs.chained || done == c.done && (!done || was == c.best.size) {
		return
	}
	cs.order = slices.DeleteFunc(cs.order, func(shape int) bool {
		if shape > s.shape {
			delete(cs.known, shape)
		}
		return shape > s.shape
	})
}

// off is the largest difference between what is counted and what was asked. known is false while fewer
// shapes than given are calibrated.
func (cs *calibrations) off(shapes int) (tokens int, known bool) {
	cs.at(0) // a data set's is done from the start
	calibrated := 0
	for _, shape := range cs.order {
		c := cs.known[shape]
		if !c.done {
			continue
		}
		calibrated++
		if by := c.best.tokens - c.want; distance(by, 0) > distance(tokens, 0) {
			tokens = by
		}
	}
	return tokens, calibrated >= shapes
}
