package telemetry

// The resolution of native and exponential histograms: schema 4, 16 buckets to a power of two, each 4.4% wide.
const (
	// These make 320 dense buckets that span a factor of 2^20: from zeroThreshold to 128 s.
	exponentialScale = 4
	exponentialSize  = 320

	// zeroThreshold is 122 µs: values up to it, as gaps within one read, count as zero. They would cost hundreds of buckets.
	zeroThreshold = 0x1p-13

	// delayThreshold is 7.6 µs, for read delays: healthy ones are below 122 µs. The dense buckets then span to 8 s.
	delayThreshold = 0x1p-17
)

// The classic bounds, in seconds, which are only read. Phases and the times of failures have none: with a series for each phase and outcome
// they would be most of what is scraped, and their mean is enough. Those of vLLM's own histograms are among them, so
// that heat maps of both sides align (https://github.com/vllm-project/vllm/blob/main/vllm/v1/metrics/buckets.py).

// gapBounds are for the time between tokens: steps of 11 to 25% between 10 and 40 ms, where most values lie.
var gapBounds = []float64{
	.0005, .001, .0025, .005, .0075, .01, .0125, .015, .0175, .02, .0225, .025, .03, .035, .04,
	.05, .06, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10,
}

var firstBounds = []float64{
	.001, .005, .01, .02, .04, .06, .08, .1, .15, .2, .25, .3, .4, .5, .6, .75, 1, 1.25, 1.5, 2, 2.5,
	3, 4, 5, 6, 7.5, 10, 12.5, 15, 20, 30, 40, 60, 80, 160, 300, 600,
}

var wholeBounds = []float64{
	.1, .2, .3, .4, .5, .65, .8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10, 12.5, 15, 20, 25, 30,
	40, 50, 60, 80, 120, 160, 240, 300, 480, 600,
}

// genAIBounds are the advice of the GenAI conventions for every duration.
var genAIBounds = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
