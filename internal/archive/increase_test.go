package archive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
)

// midnight is when the ranges of the tests begin.
var midnight = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// hours are a range from midnight.
func hours(n int) Range { return Range{From: midnight, To: midnight.Add(time.Duration(n) * time.Hour)} }

// counter is a series of floats, one value every 15 s from a time on; what is
// negative is not scraped.
func counter(labels model.Metric, from time.Time, values ...float64) stored {
	s := stored{labels: labels}
	for i, v := range values {
		if v >= 0 {
			s.samples = append(s.samples, sample{at: from.Add(time.Duration(i) * 15 * time.Second), float: v})
		}
	}
	return s
}

// rising are n values: from, from+1, and so on.
func rising(from, n int) []float64 {
	var list []float64
	for i := range n {
		list = append(list, float64(from+i))
	}
	return list
}

// unscraped are n scrapes that did not come.
func unscraped(n int) []float64 { return slices.Repeat([]float64{-1}, n) }

func TestGrowth(t *testing.T) {
	const hour = 240 // samples
	for name, test := range map[string]struct {
		from   time.Time
		values []float64
		want   float64
		born   float64
	}{
		"all through":                           {midnight.Add(-time.Hour), rising(0, 4*hour), 480, 0},
		"not there before":                      {midnight.Add(30*time.Minute + 7*time.Second), rising(3, 10), 12, 3},
		"ended within":                          {midnight.Add(-time.Hour), rising(0, 2*hour), 239, 0},
		"last seen an hour before":              {midnight.Add(-time.Hour - 5*time.Second), append(rising(7, 2), append(unscraped(2*hour), 10)...), 2, 0},
		"not seen for longer":                   {midnight.Add(-2 * time.Hour), append([]float64{7}, append(unscraped(3*hour), 10)...), 10, 10},
		"reset within a window":                 {midnight.Add(-time.Minute), append(rising(0, 50), rising(0, 100)...), 49 - 4 + 99, 0},
		"reset and above what it was":           {midnight.Add(-time.Minute), append(rising(0, 50), rising(30, 100)...), 49 - 4 + 129, 0},
		"reset between two windows":             {midnight.Add(-5 * time.Minute), append(rising(0, 41), rising(0, 100)...), 20 + 99, 0},
		"reset at the very beginning":           {midnight.Add(-15 * time.Second), []float64{100, 100, 0, 1, 2}, 2, 0},
		"reset in a gap":                        {midnight, append(rising(0, 50), append(unscraped(200), rising(5, 10)...)...), 49 + 14, 0},
		"reset in a gap over the beginning":     {midnight.Add(-30 * time.Minute), append(rising(50, 20), append(unscraped(200), rising(5, 10)...)...), 14, 0},
		"gap without a reset":                   {midnight, append(rising(0, 50), append(unscraped(200), rising(90, 10)...)...), 99, 0},
		"three resets, two of them in a window": {midnight, append(rising(0, 5), append(rising(0, 5), append(rising(0, 100), rising(0, 3)...)...)...), 4 + 4 + 99 + 2, 0},
		"reset before the range":                {midnight.Add(-30 * time.Minute), append(rising(0, 50), rising(0, 100)...), 99 - 70, 0},
		"a restart with nothing counted":        {midnight, []float64{0, 0, 0, 0}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{series: []stored{counter(model.Metric{"__name__": "c", "target": "a"}, test.from, test.values...)}}
			got, err := f.open(t).growths(t.Context(), `c{target="a"}`, hours(2), true)
			if err != nil || len(got) != 1 || got[0].by.count != test.want || got[0].born != test.born {
				t.Errorf("%+v, %v; want %v, of them %v at first", got, err, test.want, test.born)
			}
		})
	}
}

func TestNoGrowthWithoutSamples(t *testing.T) {
	f := &fake{series: []stored{counter(model.Metric{"__name__": "c"}, midnight.Add(-time.Hour), rising(0, 100)...)}}
	if got, err := f.open(t).growths(t.Context(), `c{}`, hours(1), false); err != nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestGrowthIsThatOfTheSamples holds growths of counters and histograms with
// resets, gaps and births against what their samples say one by one.
func TestGrowthIsThatOfTheSamples(t *testing.T) {
	for seed := range uint64(16) {
		random := rand.New(rand.NewPCG(seed, 1))
		span := Range{From: midnight, To: midnight.Add(time.Duration(1+random.IntN(40_000)) * time.Second)}
		f := &fake{}
		for i := range 3 {
			f.series = append(f.series, wild(random, model.Metric{"__name__": "h", "instance": model.LabelValue(fmt.Sprint(i))}, span, i > 0))
		}
		got, err := f.open(t).growths(t.Context(), `h{}`, span, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.series {
			want, samples := walked(s, span)
			var by histogram
			n := 0
			for _, g := range got {
				if g.labels["instance"] == s.labels["instance"] {
					by, n = g.by, g.samples
				}
			}
			if diff := cmp.Diff(text(want), text(by)); diff != "" || n != samples {
				t.Errorf("seed %d, %v: %d samples of %d (-samples +growth):\n%s", seed, span.Length(), n, samples, diff)
			}
		}
	}
}

// wild is a series that now and then is reset, goes, or is not scraped.
func wild(random *rand.Rand, labels model.Metric, span Range, hist bool) stored {
	s := stored{labels: labels}
	at := span.From.Add(-time.Duration(random.IntN(7200)) * time.Second)
	counts := map[int]float64{}
	for at.Before(span.To.Add(time.Minute)) {
		at = at.Add(time.Duration(14_000+random.IntN(2000)) * time.Millisecond)
		switch p := random.IntN(1000); {
		case p < 8:
			clear(counts)
		case p < 12:
			at = at.Add(time.Duration(random.IntN(2*3600)) * time.Second)
		case p < 15:
			at = at.Add(time.Duration(random.IntN(2*3600)) * time.Second)
			clear(counts)
		}
		for range random.IntN(3) {
			counts[random.IntN(20)-60]++
		}
		v := sample{at: at}
		if total := sumOf(counts); hist {
			v.hist = exponential(4, counts)
		} else {
			v.float = total
		}
		s.samples = append(s.samples, v)
	}
	return s
}

func sumOf(counts map[int]float64) (sum float64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// exponential is a sample of the API with so many in each bucket.
func exponential(schema int, counts map[int]float64) *model.SampleHistogram {
	h := &model.SampleHistogram{}
	var indices []int
	for i, n := range counts {
		if n > 0 {
			indices = append(indices, i)
		}
	}
	slices.Sort(indices)
	for _, i := range indices {
		h.Buckets = append(h.Buckets, &model.HistogramBucket{
			Lower: model.FloatString(bound(i-1, schema)), Upper: model.FloatString(bound(i, schema)), Count: model.FloatString(counts[i]),
		})
		h.Count += model.FloatString(counts[i])
		h.Sum += model.FloatString(counts[i])
	}
	return h
}

// walked is the growth of a series, sample by sample. What was last seen before
// the range counts as long as an archive looks back.
func walked(s stored, span Range) (grown histogram, samples int) {
	grid := newGrid(span)
	var before *sample
	for _, v := range s.within(grid.start, span.To) {
		if v.at.After(span.From) {
			samples++
			now := valueOf(model.SampleValue(v.float), v.hist)
			if before != nil && !down(*before, v) {
				now = now.plus(valueOf(model.SampleValue(before.float), before.hist), -1)
			}
			grown = grown.plus(now, 1)
		}
		before = &v
	}
	return grown, samples
}

// text is what can be seen of a histogram.
func text(h histogram) string {
	return fmt.Sprintln(h.count, h.sum) + fmt.Sprint(h.list())
}

func TestGrid(t *testing.T) {
	for _, test := range []struct {
		length time.Duration
		all    int
		back   int
		width  time.Duration
	}{
		{time.Second, 3601, 3600, time.Second},
		{9 * time.Minute, 8, 7, 9 * time.Minute},
		{time.Hour, 20, 10, 6 * time.Minute},
		{24 * time.Hour, 261, 11, 345600 * time.Millisecond},
		{365 * 24 * time.Hour, 1001, 1, 8*time.Hour + 45*time.Minute + 36*time.Second},
	} {
		g := newGrid(Range{From: midnight, To: midnight.Add(test.length)})
		if g.all != test.all || g.back != test.back || g.width != test.width || g.width%time.Millisecond != 0 {
			t.Errorf("%v: %d windows of %v, %d before", test.length, g.all, g.width, g.back)
		}
		if end := g.end(g.all - 1); !end.Equal(midnight.Add(test.length)) || !g.end(g.back-1).Equal(midnight) {
			t.Errorf("%v: the last window ends at %v", test.length, end)
		}
	}
}

// TestFewQuestions holds that a range without resets costs few questions, however
// long it is.
func TestFewQuestions(t *testing.T) {
	f := &fake{series: []stored{counter(model.Metric{"__name__": "c"}, midnight.Add(-time.Hour), rising(0, 20_000)...)}}
	if _, err := f.open(t).growths(t.Context(), `c{}`, hours(24), false); err != nil {
		t.Fatal(err)
	}
	if len(f.asked) != 5 {
		t.Errorf("%d questions:\n%s", len(f.asked), strings.Join(f.asked, "\n"))
	}
}
