package history

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// The histograms that the rules are fed with have the buckets of the client
// library with the prober's settings.
func TestNativeBucketsAreThoseOfTheClientLibrary(t *testing.T) {
	ours, random := newNative(), rand.New(rand.NewPCG(1, 1))
	theirs := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "x", NativeHistogramBucketFactor: 1.0443, NativeHistogramZeroThreshold: zeroThreshold,
	})
	for range 20_000 {
		v := 0.018 * lognormal(random, 0.1)
		if random.IntN(100) == 0 {
			v *= 100 * random.Float64()
		}
		ours.observe(v, position(v))
		theirs.Observe(v)
	}
	var m dto.Metric
	if err := theirs.Write(&m); err != nil {
		t.Fatal(err)
	}
	h, got := m.GetHistogram(), ours.sample()
	if h.GetSchema() != got.Schema || h.GetSampleCount() != got.Count || h.GetZeroCount() != got.ZeroCount {
		t.Errorf("schema %d, count %d, zero %d; want %d, %d, %d",
			got.Schema, got.Count, got.ZeroCount, h.GetSchema(), h.GetSampleCount(), h.GetZeroCount())
	}
	if !slices.Equal(got.PositiveBuckets, h.GetPositiveDelta()) {
		t.Errorf("buckets %v, want %v", got.PositiveBuckets, h.GetPositiveDelta())
	}
	for i, s := range h.GetPositiveSpan() {
		if i >= len(got.PositiveSpans) || got.PositiveSpans[i].Offset != s.GetOffset() || got.PositiveSpans[i].Length != s.GetLength() {
			t.Fatalf("spans %v, want %v", got.PositiveSpans, h.GetPositiveSpan())
		}
	}
}

// The classic bounds are those of docs/metrics.md, which is made of the catalog.
func TestClassicBoundsAreThoseOfTheCatalog(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, bounds := range histograms() {
		var words []string
		for _, b := range bounds {
			words = append(words, strconv.FormatFloat(b, 'g', -1, 64))
		}
		row := "| " + strings.Join(words, " ") + " |"
		if !slices.ContainsFunc(strings.Split(string(page), "\n"), func(l string) bool {
			return strings.Contains(l, "`"+name+"`") && strings.HasSuffix(l, row)
		}) {
			t.Errorf("docs/metrics.md has other bounds for %s than %v", name, bounds)
		}
	}
}
