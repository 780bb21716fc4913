package archive

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
)

// A Range is what of stored time is looked at: after From, up to To, both in
// whole seconds.
type Range struct{ From, To time.Time }

// Length is the time between both ends.
func (r Range) Length() time.Duration { return r.To.Sub(r.From) }

// Back is the range so much earlier.
func (r Range) Back(d time.Duration) Range { return Range{From: r.From.Add(-d), To: r.To.Add(-d)} }

// lookback is how old a value may be to be that of the beginning of a range.
const lookback = time.Hour

// A growth is how much one series has grown in a range, exactly: the last value
// less the one at the beginning, and at each reset in between the value before
// it. increase() would extrapolate to the ends of the range. A series that was
// not there at the beginning began at zero.
type growth struct {
	labels model.Metric
	by     histogram

	samples int     // in the range
	seen    []bool  // by window of the range: has it samples
	born    float64 // what a series that was not there at the beginning had counted when it was first seen, if that was asked for
}

// growths are those of all series that a selector finds. Series without a sample
// in the range are left out. Births are looked up where they are asked for.
func (a *Archive) growths(ctx context.Context, selector string, r Range, births bool) ([]growth, error) {
	s := newSearch(a, selector, r, births)
	if err := s.survey(ctx); err != nil {
		return nil, err
	}
	var all []growth
	for _, id := range slices.Sorted(maps.Keys(s.counts)) {
		g, err := s.growth(ctx, id)
		if err != nil {
			return nil, err
		}
		if g.samples > 0 {
			all = append(all, g)
		}
	}
	return all, nil
}

// A grid cuts a range, and what is looked back at before it, into windows of
// equal width: so many samples that Prometheus never holds the whole range, and
// so few that those of one can be read.
type grid struct {
	start time.Time     // of the first window
	width time.Duration // whole milliseconds
	all   int           // windows
	back  int           // of them before the range
}

// least is how wide a window is at least, where the range lets it: so wide that
// it holds samples of any usual scrape interval.
const least = 5 * time.Minute

// newGrid cuts a range into a number of windows that divides 1,000, so that a
// range of whole seconds has windows of whole milliseconds.
func newGrid(r Range) grid {
	n := 1
	for _, divisor := range []int{2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500, 1000} {
		if r.Length()/time.Duration(divisor) >= least {
			n = divisor
		}
	}
	width := r.Length() / time.Duration(n)
	back := int((lookback + width - 1) / width)
	return grid{start: r.From.Add(-time.Duration(back) * width), width: width, all: back + n, back: back}
}

// end is that of a window.
func (g grid) end(window int) time.Time { return g.start.Add(time.Duration(window+1) * g.width) }
