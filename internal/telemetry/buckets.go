package telemetry

import "time"

// The resolution of native and exponential histograms: schema 4, 16 buckets to a power of two, each 4.4% wide.
const (
	// nativeFactor is what client_golang rounds down to schema 4. It would round exactly 2^(1/16) to schema 5.
	nativeFactor = 1.0443

	// exponentialScale is the same resolution in OpenTelemetry.
	exponentialScale = 4

	// nativeBuckets is how many buckets of a series may be populated on /metrics: all of them from delayThreshold to nine
	// hours, or from zeroThreshold to six days. No series comes near. Above the limit client_golang halves the resolution,
	// which OTLP keeps.
	nativeBuckets = 512

	// nativeReset is how long after its start a series above nativeBuckets begins anew, with full resolution. Without it,
	// the resolution would be halved for ever. A scraper takes a new beginning for a restart of the prober.
	nativeReset = 24 * time.Hour

	// exponentialSize is how many buckets the SDK may have between the smallest value and the largest, populated or not.
	// Above the limit it halves the resolution for ever, so this is enough for all durations from 1 ns to years. Buckets
	// up to the zero threshold are not sent: see [withZeroThreshold].
	exponentialSize = 1024

	// zeroThreshold is 122 µs. Values up to it, such as gaps within one read, are in the zero bucket: otherwise they
	// would take hundreds of buckets.
	zeroThreshold = 0x1p-13

	// delayThreshold is 7.6 µs, for read delays: healthy ones are below 122 µs.
	delayThreshold = 0x1p-17
)

// The upper bounds of classic buckets, in seconds. The lists are only read. Phases and the durations of failures have
// no classic buckets: with a series for each phase and outcome they would be most of a scrape, and their mean is
// enough. The bounds of vLLM's own histograms are among them, so that heat maps of both sides align
// (https://github.com/vllm-project/vllm/blob/main/vllm/v1/metrics/buckets.py).
var (
	// gapBounds are for the time between tokens: steps of 11 to 25% between 10 and 40 ms, where most values lie.
	gapBounds = []float64{
		.0005, .001, .0025, .005, .0075, .01, .0125, .015, .0175, .02, .0225, .025, .03, .035, .04,
		.05, .06, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10,
	}

	// firstBounds are for the time to the first token.
	firstBounds = []float64{
		.001, .005, .01, .02, .04, .06, .08, .1, .15, .2, .25, .3, .4, .5, .6, .75, 1, 1.25, 1.5, 2, 2.5,
		3, 4, 5, 6, 7.5, 10, 12.5, 15, 20, 30, 40, 60, 80, 160, 300, 600,
	}

	// wholeBounds are for the time to the end of an answer.
	wholeBounds = []float64{
		.1, .2, .3, .4, .5, .65, .8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10, 12.5, 15, 20, 25, 30,
		40, 50, 60, 80, 120, 160, 240, 300, 480, 600,
	}

	// delayBounds are for read delays.
	delayBounds = []float64{
		1e-6, 2.5e-6, 5e-6, 10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6,
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
	}

	// genAIBounds are what the GenAI conventions advise for every duration.
	genAIBounds = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}

	// genAITokenBounds are what they advise for numbers of tokens.
	genAITokenBounds = []float64{
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
	}
)
