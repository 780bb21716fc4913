package report

// A Comparison is what pairs of measurements say of the difference between A and
// B: two targets, or two ranges of time.
type Comparison struct {
	A, B string
	Load string // as in [Summary]

	Pair       string  // what one pair is: "round", "period of 1h0m0s"
	Confidence float64 // that nothing shown in any of the lines is chance
	Lines      []Line  // TTFT, TPOT, ITL, E2EL, as far as there are pairs
	Warnings   []string
}

// A Line compares one quantity. All values but ratios are in seconds.
type Line struct {
	Metric string // "TTFT"
	Pairs  int
	A, B   float64 // medians

	Difference Interval // of A − B in a pair
	Ratio      Interval // of A / B in a pair
	Shown      bool     // the interval of the difference does not hold 0
	Warnings   []string
}

// An Interval is a median and between what it lies. Bounds that the pairs are too
// few for are infinite.
type Interval struct {
	Center, Low, High float64
}

// Pairs are the measurements of one quantity on A and B, in seconds, each two
// under the same circumstances.
type Pairs struct {
	Metric string
	Values [][2]float64
}
