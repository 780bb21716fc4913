package archive

import (
	"math"
	"testing"

	"github.com/prometheus/common/model"
)

// told is a sample of the API, of buckets {lower, upper, count}.
func told(sum float64, buckets ...[3]float64) *model.SampleHistogram {
	h := &model.SampleHistogram{Sum: model.FloatString(sum)}
	for _, b := range buckets {
		h.Count += model.FloatString(b[2])
		h.Buckets = append(h.Buckets, &model.HistogramBucket{Lower: model.FloatString(b[0]), Upper: model.FloatString(b[1]), Count: model.FloatString(b[2])})
	}
	return h
}

func zeroAnd(zeros float64, schema int, counts map[int]float64) *model.SampleHistogram {
	h := exponential(schema, counts)
	h.Count += model.FloatString(zeros)
	h.Buckets = append(model.HistogramBuckets{{Boundaries: 3, Lower: -0x1p-13, Upper: 0x1p-13, Count: model.FloatString(zeros)}}, h.Buckets...)
	return h
}

// TestQuantiles holds quantiles against what histogram_quantile of Prometheus
// 3.15 says of the same buckets.
func TestQuantiles(t *testing.T) {
	native := fromSample(zeroAnd(2, 4, map[int]float64{-60: 3, -58: 5, -57: 1, -56: 7, -55: 2}))
	zeros := fromSample(zeroAnd(9, 4, map[int]float64{-60: 1}))
	even := fromSample(exponential(3, map[int]float64{2: 5, 3: 5}))
	one := fromSample(exponential(0, map[int]float64{0: 1}))
	custom := fromSample(told(7, [3]float64{math.Inf(-1), 0.1, 3}, [3]float64{0.2, 0.5, 5}, [3]float64{0.5, 1, 2}, [3]float64{1, math.Inf(1), 2}))
	classic := fromCumulative(map[float64]float64{0.1: 3, 0.2: 3, 0.5: 8, 1: 10, math.Inf(1): 12}, 7)
	inf := math.Inf(1)
	for _, test := range []struct {
		name             string
		h                histogram
		share            float64
		value, low, high float64
	}{
		{"native", native, 0.25, 7.432544468767006e-02, bound(-61, 4), bound(-60, 4)},
		{"native", native, 0.5, 8.10524721656881e-02, bound(-58, 4), bound(-57, 4)},
		{"native", native, 0.75, 8.676243093883002e-02, bound(-57, 4), bound(-56, 4)},
		{"native", native, 0.9, 8.838834764831843e-02, bound(-56, 4), bound(-55, 4)},
		{"native", native, 0.95, 9.032380043606542e-02, bound(-56, 4), bound(-55, 4)},
		{"native", native, 0.99, 9.190263265723232e-02, bound(-56, 4), bound(-55, 4)},
		{"zero bucket", zeros, 0.25, 3.390842013888889e-05, 0, 0x1p-13},
		{"zero bucket", zeros, 0.75, 1.0172526041666667e-04, 0, 0x1p-13},
		{"above zero", zeros, 0.95, 7.273280367359859e-02, bound(-61, 4), bound(-60, 4)},
		{"between two", even, 0.5, 1.189207115002721, bound(2, 3), bound(3, 3)},
		{"of ten", even, 0.25, 1.1387886347566916, bound(1, 3), bound(2, 3)},
		{"a single one", one, 0.5, 0.7071067811865475, 0.5, 1},
		{"a single one", one, 0.99, 0.9930924954370359, 0.5, 1},
		{"custom", custom, 0.25, 0.1, 0, 0.1},
		{"custom", custom, 0.5, 0.38, 0.2, 0.5},
		{"custom", custom, 0.75, 0.75, 0.5, 1},
		{"custom, the last", custom, 0.95, 1, 1, inf},
		{"classic", classic, 0.25, 0.1, 0, 0.1},
		{"classic", classic, 0.5, 0.38, 0.2, 0.5},
		{"classic, the last", classic, 0.9, 1, 1, inf},
	} {
		q := test.h.quantile(test.share, test.h.list())
		if math.Abs(q.Value-test.value) > 1e-14 || math.Abs(q.Low-test.low) > 1e-14 || q.High != test.high && math.Abs(q.High-test.high) > 1e-14 {
			t.Errorf("%s, %v: %+v, want %v in %v to %v", test.name, test.share, q, test.value, test.low, test.high)
		}
	}
}

func TestDistribution(t *testing.T) {
	d := fromSample(told(0.5, [3]float64{0.0625, 0.125, 5})).distribution()
	if d.Count != 5 || d.Mean != 0.1 || len(d.Quantiles) != 5 || d.Quantiles[4].Share != 0.99 {
		t.Errorf("%+v", d)
	}
	if d := (histogram{}).distribution(); d.Count != 0 || d.Quantiles != nil {
		t.Errorf("of nothing: %+v", d)
	}
	if d := (histogram{count: 7}).distribution(); d.Count != 0 {
		t.Errorf("of a counter: %+v", d)
	}
}

func TestSchemaOf(t *testing.T) {
	for _, test := range []struct {
		buckets []*model.HistogramBucket
		want    int
		ok      bool
	}{
		{zeroAnd(1, 4, map[int]float64{-90: 1, 100: 1}).Buckets, 4, true},
		{exponential(8, map[int]float64{-3000: 1, 500: 1}).Buckets, 8, true},
		{exponential(-4, map[int]float64{2: 1}).Buckets, -4, true},
		{told(1, [3]float64{0.005, 0.01, 1}).Buckets, 0, false},
		{told(1, [3]float64{0.25, 0.5, 1}, [3]float64{0.5, 0.75, 1}).Buckets, 0, false},
		{told(1, [3]float64{math.Inf(-1), 0.5, 1}).Buckets, 0, false},
	} {
		if got, ok := schemaOf(test.buckets); ok != test.ok || ok && got != test.want {
			t.Errorf("%v: %d, %v; want %d, %v", test.buckets, got, ok, test.want, test.ok)
		}
	}
}

// TestPlus holds that buckets of different kinds meet in the coarser.
func TestPlus(t *testing.T) {
	fine := fromSample(zeroAnd(1, 4, map[int]float64{-16: 2, -15: 3, 1: 4}))
	coarse := fromSample(exponential(3, map[int]float64{-8: 10, 1: 1}))
	wide := histogram{count: 3, zeros: 3, zero: 0.5}
	for _, test := range []struct {
		name string
		got  histogram
		want string
	}{
		{"a coarser one less a finer", coarse.plus(fromSample(exponential(4, map[int]float64{-16: 2, -17: 3})), -1), text(fromSample(exponential(3, map[int]float64{-8: 5, 1: 1})))},
		{"zeros are kept", fine.plus(histogram{}, 1), text(fine)},
		{"a wider zero bucket", fine.plus(wide, 1), text(histogram{count: 13, sum: 9, schema: 4, zeros: 6, zero: 0.5, buckets: map[int]float64{-15: 3, 1: 4}})},
		{"the other way round", wide.plus(fine, 1), text(fine.plus(wide, 1))},
		{"explicit ones", fromCumulative(map[float64]float64{0.5: 1, 1: 3, math.Inf(1): 3}, 2).plus(fromSample(exponential(0, map[int]float64{0: 5})), 1),
			text(fromCumulative(map[float64]float64{0.5: 1, 1: 8, math.Inf(1): 8}, 7))},
	} {
		if text(test.got) != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, text(test.got), test.want)
		}
	}
	if text(fine) != text(fromSample(zeroAnd(1, 4, map[int]float64{-16: 2, -15: 3, 1: 4}))) {
		t.Error("a sum changed what was added")
	}
}

func TestBegins(t *testing.T) {
	of := func(schema int, counts map[int]float64) histogram { return fromSample(exponential(schema, counts)) }
	for _, test := range []struct {
		name        string
		before, now histogram
		want        bool
	}{
		{"grown", of(4, map[int]float64{1: 2}), of(4, map[int]float64{1: 2, 5: 1}), false},
		{"less", of(4, map[int]float64{1: 2}), of(4, map[int]float64{1: 1}), true},
		{"more, and less in a bucket", of(4, map[int]float64{1: 2}), of(4, map[int]float64{1: 1, 2: 5}), true},
		{"halved in resolution", of(4, map[int]float64{1: 2, 2: 3}), of(3, map[int]float64{1: 5}), false},
		{"halved, and less", of(4, map[int]float64{1: 2, 2: 3}), of(3, map[int]float64{1: 4, 2: 5}), true},
		{"finer again", of(3, map[int]float64{1: 2}), of(4, map[int]float64{1: 2, 2: 2}), true},
		{"from nothing", histogram{}, of(4, map[int]float64{1: 2}), false},
		{"fewer zeros", fromSample(zeroAnd(2, 4, nil)), fromSample(zeroAnd(1, 4, map[int]float64{1: 5})), true},
		{"a counter", histogram{count: 5}, histogram{count: 4}, true},
	} {
		if got := test.now.begins(test.before); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
