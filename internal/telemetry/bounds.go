package telemetry

import (
	"slices"
	"time"
)

// The resolution of native and exponential histograms. Both libraries end at
// schema 4, 16 buckets to a power of two, each 4.4% wide.
const (
	// nativeFactor is what client_golang rounds down to schema 4. Exactly
	// 2^(1/16) it rounds to schema 5.
	nativeFactor = 1.0443

	// nativeBuckets bounds the populated buckets of a series, and nativeReset is
	// how long it must have lived before it may be reset for having more.
	nativeBuckets = 160
	nativeReset   = time.Hour

	// exponentialScale and exponentialSize make 320 dense buckets that span a
	// factor of 2^20: from zeroThreshold to 128 s.
	exponentialScale = 4
	exponentialSize  = 320

	// zeroThreshold is 2^-13 s, 122 µs: what is not above it counts as zero. It is
	// the gap of frames that came together, and would cost hundreds of buckets.
	zeroThreshold = 0x1p-13

	// delayThreshold is 2^-17 s, 7.6 µs, and the threshold of read delays: a healthy
	// one is shorter than 122 µs, and would be nothing but zero. The dense buckets
	// then span to 8 s.
	delayThreshold = 0x1p-17
)

// The classic bounds, in seconds. Those of vLLM's own histograms are among them,
// so that heat maps of both sides align
// (https://github.com/vllm-project/vllm/blob/main/vllm/v1/metrics/buckets.py).

// gapBounds are for the time between tokens: between 10 and 40 ms, where it
// mostly lies, steps are 11 to 25%.
func gapBounds() []float64 {
	return []float64{
		.0005, .001, .0025, .005, .0075, .01, .0125, .015, .0175, .02, .0225, .025, .03, .035, .04,
		.05, .06, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10,
	}
}

// maxGapBounds are gapBounds and the stalls.
func maxGapBounds() []float64 { return append(gapBounds(), 20, 40, 80, 160) }

// firstBounds are for the time to the first token.
func firstBounds() []float64 {
	return []float64{
		.001, .005, .01, .02, .04, .06, .08, .1, .15, .2, .25, .3, .4, .5, .6, .75, 1, 1.25, 1.5, 2, 2.5,
		3, 4, 5, 6, 7.5, 10, 12.5, 15, 20, 30, 40, 60, 80, 160, 300, 600,
	}
}

// wholeBounds are for whole probes.
func wholeBounds() []float64 {
	return []float64{
		.1, .2, .3, .4, .5, .65, .8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10, 12.5, 15, 20, 25, 30,
		40, 50, 60, 80, 120, 160, 240, 300, 480, 600,
	}
}

// phaseBounds are for the parts of a request before its answer: gapBounds below
// a second, firstBounds above, since the wait for the header may be the whole
// prefill.
func phaseBounds() []float64 {
	below := slices.DeleteFunc(gapBounds(), func(b float64) bool { return b >= 1 })
	above := slices.DeleteFunc(firstBounds(), func(b float64) bool { return b < 1 })
	return append(below, above...)
}

// delayBounds are for how long bytes lay unread: 3 to a power of ten, from what a
// wake-up costs to what nobody would call one.
func delayBounds() []float64 {
	return []float64{
		1e-6, 2.5e-6, 5e-6, 10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6,
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
	}
}

// genAIBounds are those that the GenAI conventions advise for every duration.
func genAIBounds() []float64 {
	return []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
}

// genAITokenBounds are those that the GenAI conventions advise for tokens.
func genAITokenBounds() []float64 {
	return []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
}
