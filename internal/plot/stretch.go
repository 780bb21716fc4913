package plot

import "slices"

// afar is how many times the middle of all points one must be out for the others
// to be a wall on a linear axis.
const afar = 10

// Stretched is c with a logarithmic X axis, if some of its points are so far out
// that the others would stand in a line on a linear one. What is not above zero is
// not drawn then.
func (c Chart) Stretched() Chart {
	var xs []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			if p.X > 0 {
				xs = append(xs, p.X)
			}
		}
	}
	if len(xs) > 0 {
		slices.Sort(xs)
		c.X.Log = xs[len(xs)-1] > afar*xs[len(xs)/2]
	}
	return c
}
