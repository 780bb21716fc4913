package main

import (
	"fmt"
	"slices"
	"time"
)

// A joined is what a client saw, held against what was written.
type joined struct {
	frames   int
	gaps     []time.Duration // |gap seen − gap written|, of each token frame but the first of a stream
	between  []time.Duration // of them those between Writes that nothing interrupted
	ttft     []time.Duration // first token frame seen − written, of each stream
	late     []time.Duration // of the server: written − due, of each token frame
	together int
	kernel   int
	tainted  int // streams

	itl, truth                 []time.Duration // ITL as the client said, and the times between the Writes
	withITL, withTTFT, withMax int             // streams
	joinedTokens               int             // whose ITL is a mean
	maxOff                     time.Duration   // the largest error of a max gap
}

// join finds the writes of each stream by its trace id. Every frame must be there
// on both sides.
func join(streams []seen, w writes) (joined, error) {
	var j joined
	for _, s := range streams {
		sent := w[s.Trace]
		if len(sent) != len(s.Arrivals) || len(sent) == 0 {
			return j, fmt.Errorf("stream %s: %d token frames written, %d seen", s.Trace, len(sent), len(s.Arrivals))
		}
		j.add(s, sent)
	}
	return j, nil
}

func (j *joined) add(s seen, sent []written) {
	j.frames += len(sent)
	j.together += s.Together
	j.kernel += s.Kernel
	j.joinedTokens += s.Joined
	j.itl = append(j.itl, s.ITL...)
	count := func(streams *int, counts bool) {
		if counts {
			*streams++
		}
	}
	count(&j.tainted, s.Tainted)
	count(&j.withITL, len(s.ITL) > 0)
	count(&j.withTTFT, s.TTFT)
	count(&j.withMax, s.MaxGap >= 0)
	j.ttft = append(j.ttft, time.Duration(s.Arrivals[0]-sent[0].Before))
	longest := time.Duration(0)
	for i, frame := range sent {
		j.late = append(j.late, time.Duration(frame.Before-frame.Due))
		if i == 0 {
			continue
		}
		truth := time.Duration(frame.Before - sent[i-1].Before)
		off := (time.Duration(s.Arrivals[i]-s.Arrivals[i-1]) - truth).Abs()
		j.gaps, j.truth, longest = append(j.gaps, off), append(j.truth, truth), max(longest, truth)
		if frame.brief() && sent[i-1].brief() {
			j.between = append(j.between, off)
		}
	}
	if s.MaxGap >= 0 {
		j.maxOff = max(j.maxOff, (s.MaxGap - longest).Abs())
	}
}

// A spread is a distribution in a few figures.
type spread struct{ p50, p95, p99, max, mean time.Duration }

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
	return spread{p50: rank(50), p95: rank(95), p99: rank(99), max: rank(100), mean: s.mean / time.Duration(len(list))}
}

// median is the middle one, the mean of both if there are two. The list is not
// empty.
func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
