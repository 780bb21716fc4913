package timing

import (
	"slices"
	"time"
)

// A Chunk is one token frame, or several that share the time since the chunk before: a burst, or frames that are
// joined, because the reader was late and the kernel merged them. See docs/decisions.md.
//
// Five tokens, 20 ms apart. The reader finds the first two one by one, then loses its processor for 50 ms, and finds
// three together. The kernel says when the last of them arrived:
//
//	sent      520    540    560    580    600         ms since the start
//	read        520    540                  615       with the timestamps 520, 540, 600, 600, 600
//	chunks   [1]    [1]    [     3, joined    ]       at 520, 540, 600; since the chunk before: –, 20, 60
//	ITL              20     20     20     20          60 ms divided by three tokens, observed three times
type Chunk struct {
	Frames int  // token frames
	Joined bool // only the last of its arrivals is known, if any

	first  int           // index of its first token frame
	at     time.Duration // arrival of its last token frame
	since  time.Duration // from the chunk before, or from the earliest moment at which the first can have arrived
	tokens int           // 0 if they cannot be attributed

	blurredEnd bool // its last token frame, too, may have arrived before its timestamp
}

// last returns the index of the chunk's last token frame.
func (c Chunk) last() int { return c.first + c.Frames - 1 }

// leastTokens returns the number of tokens, or of frames where the tokens are not known: each has one at least.
func (c Chunk) leastTokens() int { return max(c.tokens, c.Frames) }

// chunksOf returns the chunks of an answer, in order.
func (a *analysis) chunksOf(t *Timeline) (all []Chunk) {
	burst := burstOf(t.Frames)
	before := earliestToken(t) // arrival of the chunk before
	attributed := true         // the tokens of all frames of c are known
	var c Chunk
	for i, f := range t.Frames {
		c.Frames++
		c.at = f.At
		c.since = f.At - before
		c.tokens += f.N
		// Only a frame's own late read joins it with others: a burst that was read on time stays one.
		c.blurredEnd = a.mayBeEarlier(t, i, a.isLate(f))
		attributed = attributed && f.N > 0
		if i+1 < len(t.Frames) {
			c.Joined = c.Joined || c.blurredEnd
			isBurst := t.readWithNext(i) || t.Frames[i+1].At-f.At <= burst
			if c.blurredEnd || isBurst {
				continue // the next frame belongs to c, too
			}
		}
		if !attributed {
			c.tokens = 0
		}
		all = append(all, c)
		before = f.At
		attributed = true
		c = Chunk{first: i + 1}
	}
	return all
}

// burstOf returns the longest gap between token frames of one burst. It is a quarter of the mean gap, without the
// longest fiftieth of the gaps. It is at most a millisecond, because no known engine takes less for a step. It is 0 if
// there are no gaps.
func burstOf(frames []Frame) time.Duration {
	gaps := make([]time.Duration, 0, len(frames))
	for i := 1; i < len(frames); i++ {
		gaps = append(gaps, frames[i].At-frames[i-1].At)
	}
	slices.Sort(gaps)
	gaps = gaps[:len(gaps)-(len(gaps)+49)/50]
	var sum time.Duration
	for _, gap := range gaps {
		sum += gap
	}
	if sum == 0 {
		return 0
	}
	return min(sum/time.Duration(4*len(gaps)), time.Millisecond)
}
