package probe

import (
	"iter"
	"time"
)

// These are the times of a probe that are samples, so that recorders may take them: times that its arrivals show well
// enough (see [timing.Timeline]) of a probe that is what its labels say.

// TTFT returns the arrival of the first token frame. See also [Result.TTFTValid].
func (r *Result) TTFT() (d time.Duration, ok bool) {
	d, ok = r.Timeline.TTFT()
	return d, ok && !r.OtherLength
}

// ServerTTFT returns the time from the last request byte to the first token frame. See also [Result.TTFTValid].
func (r *Result) ServerTTFT() (d time.Duration, ok bool) {
	d, ok = r.Timeline.ServerTTFT()
	return d, ok && !r.OtherLength
}

// TTFTValid reports whether TTFT may be used: no hidden reasoning came before the first token that was seen, and the
// cache had nothing of a prompt that is meant to be cold.
func (r *Result) TTFTValid() bool { return !r.ReasoningHidden && r.Cache != CacheContaminated }

// TTFAT returns the time to the first token of text, a tool call or a refusal, but not reasoning.
func (r *Result) TTFAT() (d time.Duration, ok bool) {
	d, ok = r.Timeline.TTFAT()
	return d, ok && !r.OtherLength
}

// TPOT returns the time per output token after the first chunk. ok is also false if the number of tokens is unknown,
// and with hidden reasoning, which would make it too small unless every frame reports its tokens.
func (r *Result) TPOT() (d time.Duration, ok bool) {
	n := r.Usage.Generated()
	if r.OtherLength || !n.Known || r.ReasoningHidden && r.Source != FromUsage {
		return 0, false
	}
	return r.Timeline.TPOT(n.N)
}

// ITL yields the time between two chunks divided by the tokens of the later one, once per token.
func (r *Result) ITL() iter.Seq[time.Duration] {
	if r.OtherLength {
		return noSamples
	}
	return r.Timeline.ITL()
}

// ChunkGaps yields the gaps between token frames.
func (r *Result) ChunkGaps() iter.Seq[time.Duration] {
	if r.OtherLength {
		return noSamples
	}
	return r.Timeline.ChunkGaps()
}

func noSamples(func(time.Duration) bool) {}

// MaxGap returns the longest gap between two token frames, the one still open when the probe died included.
func (r *Result) MaxGap() (d time.Duration, ok bool) {
	d, ok = r.Timeline.MaxGap()
	return d, ok && !r.OtherLength
}

// E2EL returns the arrival of the last token frame, or of the finish frame if that came later. ok is also false if the
// probe failed.
func (r *Result) E2EL() (d time.Duration, ok bool) {
	d, ok = r.Timeline.E2EL()
	return d, ok && r.Outcome == OK && !r.OtherLength
}

// OnePiece reports whether the answer arrived at once: all its tokens in one frame, or in frames closer together than
// any engine makes them. Then there is no TPOT, no ITL, no chunk gap and no max gap.
func (r *Result) OnePiece() bool {
	generated := r.Usage.Generated()
	oneFrame := len(r.Timeline.Frames) == 1 && generated.N > 1 && !r.ReasoningHidden
	return oneFrame || r.Timeline.OnePiece()
}
