package main

import (
	"fmt"
	"slices"
	"time"
)

// A joined is what a client saw, held against what was written.
type joined struct {
	frames   int
	together int
	kernel   int
	tainted  int // streams

	gaps    spread // |gap seen − gap written|, of each token frame but the first of a stream
	between spread // of them those between Writes that nothing interrupted
	ttft    spread // first token frame seen − written, of each stream
	late    spread // of the server: written − due, of each token frame

	itl, truth                 spread        // ITL as the client said, and the times between the Writes
	withITL, withTTFT, withMax int           // streams
	joinedTokens               int           // whose ITL is a mean
	maxOff                     time.Duration // the largest error of a max gap
}

// join finds the writes of each stream by its trace id. Every frame must be there
// on both sides.
func join(streams []seen, w writes) (j joined, err error) {
	var all samples
	for _, s := range streams {
		sent := w[s.Trace]
		if len(sent) != len(s.Arrivals) || len(sent) == 0 {
			return j, fmt.Errorf("stream %s: %d token frames written, %d seen", s.Trace, len(sent), len(s.Arrivals))
		}
		all.itl = append(all.itl, s.ITL...)
		j.count(s, len(sent), all.add(s, sent))
	}
	j.gaps, j.between, j.ttft, j.late = spreadOf(all.gaps), spreadOf(all.between), spreadOf(all.ttft), spreadOf(all.late)
	j.itl, j.truth = spreadOf(all.itl), spreadOf(all.truth)
	return j, nil
}

// count counts a stream with its frames and its longest gap.
func (j *joined) count(s seen, frames int, longest time.Duration) {
	j.frames += frames
	j.together += s.Together
	j.kernel += s.Kernel
	j.joinedTokens += s.Joined
	if s.Tainted {
		j.tainted++
	}
	if len(s.ITL) > 0 {
		j.withITL++
	}
	if s.TTFT {
		j.withTTFT++
	}
	if s.MaxGap >= 0 {
		j.withMax++
		j.maxOff = max(j.maxOff, (s.MaxGap - longest).Abs())
	}
}

// samples are what the spreads of a joined are of.
type samples struct{ gaps, between, ttft, late, itl, truth []time.Duration }

// add adds a stream but for its ITL, and returns its longest gap.
func (a *samples) add(s seen, sent []written) (longest time.Duration) {
	a.ttft = append(a.ttft, time.Duration(s.Arrivals[0]-sent[0].Before))
	for i, frame := range sent {
		a.late = append(a.late, time.Duration(frame.Before-frame.Due))
		if i == 0 {
			continue
		}
		truth := time.Duration(frame.Before - sent[i-1].Before)
		off := (time.Duration(s.Arrivals[i]-s.Arrivals[i-1]) - truth).Abs()
		a.gaps, a.truth, longest = append(a.gaps, off), append(a.truth, truth), max(longest, truth)
		if frame.brief() && sent[i-1].brief() {
			a.between = append(a.between, off)
		}
	}
	return longest
}

// interrupted is how long a Write takes at least in which the server lost its
// processor, where it is busy: others take 8 µs. When the bytes left is not known to less
// than that.
const interrupted = int64(50 * time.Microsecond)

// brief reports whether nothing interrupted the Write.
func (w written) brief() bool { return w.After-w.Before < interrupted }

// A spread is a distribution in a few figures.
type spread struct {
	n                        int
	p50, p95, p99, max, mean time.Duration
}

// spreadOf sorts the list. The quantiles are its members, by nearest rank; of an
// empty one all are zero.
func spreadOf(list []time.Duration) (s spread) {
	if len(list) == 0 {
		return s
	}
	slices.Sort(list)
	rank := func(of100 int) time.Duration { return list[(len(list)*of100+99)/100-1] }
	for _, d := range list {
		s.mean += d
	}
	s.mean /= time.Duration(len(list))
	return spread{n: len(list), p50: rank(50), p95: rank(95), p99: rank(99), max: rank(100), mean: s.mean}
}

// median returns the middle one, the mean of both if there are two. The list is not
// empty.
func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
