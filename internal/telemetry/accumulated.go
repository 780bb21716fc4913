package telemetry

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A series has two exemplars: the last one, and that of the highest classic bucket within slowestFor.
const slowestFor = 5 * time.Minute

// nativeBounds divide the fractions of [math.Frexp] into the native buckets of a power of two. They are only read.
var nativeBounds = func() (bounds [1 << exponentialScale]float64) {
	for n := range bounds {
		bounds[n] = math.Exp2(float64(n)/float64(len(bounds)) - 1)
	}
	return bounds
}()

// An accumulated is one counter or histogram on /metrics. It is safe for concurrent use.
type accumulated struct {
	of      *Instrument
	labels  []*dto.LabelPair
	created int64 // seconds since 1970

	mu          sync.Mutex // guards all below
	count, zero uint64
	sum         float64  // or the value of a counter
	classic     []uint64 // of each bound and beyond, not cumulative; nil before the first value
	native      []nativeBucket
	exemplars   []kept
}

// A nativeBucket counts the values above 2^((key-1)/16) and up to 2^(key/16).
type nativeBucket struct {
	key   int
	count int64
}

// A kept is a value in a classic bucket, and the span that it came from.
type kept struct {
	bucket int
	value  float64
	at     time.Time
	trace  trace.TraceID
	span   trace.SpanID
}

// add implements [series].
func (s *accumulated) add(value float64, from trace.SpanContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum += value
	if s.of.Kind == Counter {
		return
	}
	s.count++
	bucket := sort.SearchFloat64s(s.of.Bounds, value)
	if s.classic == nil {
		s.classic = make([]uint64, len(s.of.Bounds)+1)
	}
	s.classic[bucket]++
	if value <= s.of.zero() {
		s.zero++
	} else {
		frac, exp := math.Frexp(value)
		key := sort.SearchFloat64s(nativeBounds[:], frac) + (exp-1)*len(nativeBounds)
		n, found := slices.BinarySearchFunc(s.native, key, func(b nativeBucket, key int) int { return cmp.Compare(b.key, key) })
		if !found {
			s.native = slices.Insert(s.native, n, nativeBucket{key: key})
		}
		s.native[n].count++
	}
	if from.IsValid() {
		s.keep(kept{bucket, value, time.Now(), from.TraceID(), from.SpanID()})
	}
}

// keep makes e the last exemplar. One of its own bucket goes: those of a bucket may only become newer, as Prometheus wants them.
func (s *accumulated) keep(e kept) {
	var highest []kept
	for _, other := range s.exemplars {
		if other.bucket != e.bucket && e.at.Sub(other.at) < slowestFor && (len(highest) == 0 || other.bucket > highest[0].bucket) {
			highest = []kept{other}
		}
	}
	s.exemplars = append(highest, e)
}

// metric is the series as it is scraped now. The time of its creation is left out as long as it is zero.
func (s *accumulated) metric() *dto.Metric {
	s.mu.Lock()
	defer s.mu.Unlock()
	var created *timestamppb.Timestamp
	if s.sum != 0 || s.count > 0 {
		created = &timestamppb.Timestamp{Seconds: s.created}
	}
	if s.of.Kind == Counter {
		counter := &dto.Counter{CreatedTimestamp: created}
		if s.sum != 0 { // 9 bytes of most series, which protobuf leaves out
			counter.Value = new(s.sum)
		}
		return &dto.Metric{Label: s.labels, Counter: counter}
	}
	h := &dto.Histogram{
		SampleCount: new(s.count), SampleSum: new(s.sum), CreatedTimestamp: created, Bucket: s.buckets(),
		Schema: new(int32(exponentialScale)), ZeroThreshold: new(s.of.zero()), ZeroCount: new(s.zero),
	}
	h.PositiveSpan, h.PositiveDelta = s.spans()
	return &dto.Metric{Label: s.labels, Histogram: h}
}

// buckets are the classic ones. They have the exemplars of the native histogram too: Prometheus takes them from here.
func (s *accumulated) buckets() []*dto.Bucket {
	bounds := s.of.Bounds
	if len(bounds) == 0 {
		return nil
	}
	made, sums, sum := make([]dto.Bucket, len(bounds)+1), make([]uint64, len(bounds)+1), uint64(0)
	list := make([]*dto.Bucket, 0, len(made))
	for n := range made {
		if s.classic != nil {
			sum += s.classic[n]
		}
		if sums[n] = sum; sum > 0 {
			made[n].CumulativeCount = &sums[n]
		}
		if at := slices.IndexFunc(s.exemplars, func(e kept) bool { return e.bucket == n }); at >= 0 {
			made[n].Exemplar = s.exemplars[at].exemplar()
		}
		if n < len(bounds) {
			made[n].UpperBound = &bounds[n]
		} else if made[n].UpperBound = new(math.Inf(1)); made[n].Exemplar == nil {
			break // every format has the count beside
		}
		list = append(list, &made[n])
	}
	return list
}

func (e kept) exemplar() *dto.Exemplar {
	return &dto.Exemplar{Value: &e.value, Timestamp: timestamppb.New(e.at.Truncate(time.Millisecond)), Label: []*dto.LabelPair{
		{Name: new("trace_id"), Value: new(e.trace.String())}, {Name: new("span_id"), Value: new(e.span.String())},
	}}
}

// spans are the native buckets in runs, as differences from the one before. Two empty ones are cheaper than a new run.
func (s *accumulated) spans() (spans []*dto.BucketSpan, deltas []int64) {
	next, last := 0, int64(0)
	for n, b := range s.native {
		gap := b.key - next
		if n == 0 || gap > 2 {
			spans = append(spans, &dto.BucketSpan{Offset: new(int32(gap)), Length: new(uint32(0))})
			gap = 0
		}
		run := spans[len(spans)-1].Length
		for ; gap > 0; gap-- {
			deltas, last, *run = append(deltas, -last), 0, *run+1
		}
		deltas, last, *run = append(deltas, b.count-last), b.count, *run+1
		next = b.key + 1
	}
	return spans, deltas
}
