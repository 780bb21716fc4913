package archive

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
)

// A histogram is how many values fell between which bounds. A plain counter is
// one without buckets.
type histogram struct {
	count, sum float64

	// Exponential buckets have a schema: index i reaches from 2^((i-1)/2^schema),
	// itself not in it, to 2^(i/2^schema). What is at most zero wide around 0
	// counts as zeros.
	schema  int
	buckets map[int]float64
	zeros   float64
	zero    float64 // threshold; not known where zeros is 0

	// Explicit buckets are classic ones, in either form. There are none beside
	// exponential ones.
	explicit map[bounds]float64
}

// bounds are those of a bucket: above lower, up to upper.
type bounds struct{ lower, upper float64 }

// The schemas of exponential buckets.
const (
	coarsest = -4
	finest   = 8
)

// fromSample reads a sample of the API, which tells only buckets that hold
// something, by their bounds. What is below zero, which no latency is, counts
// as zero.
func fromSample(s *model.SampleHistogram) histogram {
	h := histogram{count: float64(s.Count), sum: float64(s.Sum)}
	schema, exponential := schemaOf(s.Buckets)
	for _, b := range s.Buckets {
		lower, upper, n := float64(b.Lower), float64(b.Upper), float64(b.Count)
		switch {
		case !exponential:
			h.put(bounds{lower, upper}, n)
		case lower < 0 || upper <= 0:
			h.zeros += n
			h.zero = max(h.zero, upper)
		default:
			h.schema = schema
			h.add1(index(upper, schema), n)
		}
	}
	return h
}

// schemaOf is the schema that all buckets have; ok is false if there is none.
func schemaOf(buckets model.HistogramBuckets) (schema int, ok bool) {
	schema, seen := finest, false
	for _, b := range buckets {
		lower, upper := float64(b.Lower), float64(b.Upper)
		if math.IsInf(lower, 0) || math.IsInf(upper, 0) || lower == 0 && upper > 0 {
			return 0, false
		}
		if lower <= 0 {
			continue
		}
		exact := -math.Log2(math.Log2(upper / lower))
		s := int(math.Round(exact))
		at := math.Log2(upper) * math.Exp2(float64(s))
		if math.Abs(exact-float64(s)) > 1e-6 || math.Abs(at-math.Round(at)) > 1e-6 || s < coarsest || s > finest || seen && s != schema {
			return 0, false
		}
		schema, seen = s, true
	}
	return schema, true
}

// index is that of the bucket with an upper bound.
func index(upper float64, schema int) int {
	return int(math.Round(math.Log2(upper) * math.Exp2(float64(schema))))
}

// bound is the upper bound of the bucket with an index.
func bound(i, schema int) float64 { return math.Exp2(float64(i) * math.Exp2(-float64(schema))) }

func (h *histogram) add1(i int, n float64) {
	if h.buckets == nil {
		h.buckets = map[int]float64{}
	}
	h.buckets[i] += n
}

func (h *histogram) put(b bounds, n float64) {
	if h.explicit == nil {
		h.explicit = map[bounds]float64{}
	}
	h.explicit[b] += n
}

// plus is h and sign times o, in the coarser buckets of the two.
func (h histogram) plus(o histogram, sign float64) histogram {
	h, o = h.clone(), o.clone()
	align(&h, &o)
	h.count += sign * o.count
	h.sum += sign * o.sum
	h.zeros += sign * o.zeros
	for i, n := range o.buckets {
		h.add1(i, sign*n)
	}
	for b, n := range o.explicit {
		h.put(b, sign*n)
	}
	return h
}

func (h histogram) clone() histogram {
	h.buckets, h.explicit = maps.Clone(h.buckets), maps.Clone(h.explicit)
	return h
}

// align gives both buckets of one kind, schema and zero threshold.
func align(a, b *histogram) {
	switch {
	case a.explicit != nil || b.explicit != nil:
		a.explain()
		b.explain()
		return
	case len(a.buckets) == 0:
		a.schema = b.schema
	case len(b.buckets) == 0:
		b.schema = a.schema
	}
	schema, zero := min(a.schema, b.schema), max(a.zero, b.zero)
	for _, h := range []*histogram{a, b} {
		h.coarsen(schema)
		h.widen(zero)
	}
}

// explain makes explicit buckets of exponential ones.
func (h *histogram) explain() {
	if h.explicit != nil {
		return
	}
	explicit := map[bounds]float64{}
	for _, b := range h.list() {
		explicit[b.bounds] += b.n
	}
	h.explicit, h.buckets, h.zeros, h.zero = explicit, nil, 0, 0
}

// coarsen joins buckets until they are of a schema that is not finer.
func (h *histogram) coarsen(schema int) {
	for ; h.schema > schema; h.schema-- {
		joined := map[int]float64{}
		for i, n := range h.buckets {
			joined[int(math.Ceil(float64(i)/2))] += n
		}
		h.buckets = joined
	}
}

// widen lets what is up to a threshold count as zero.
func (h *histogram) widen(zero float64) {
	h.zero = zero
	for i, n := range h.buckets {
		if zero > 0 && bound(i-1, h.schema) < zero*(1-1e-9) {
			h.zeros += n
			delete(h.buckets, i)
		}
	}
}

// begins says whether h is of a counter that was reset after before: as
// Prometheus' own resets() has it, something went down, or became finer.
func (h histogram) begins(before histogram) bool {
	if h.count < before.count || h.explicit == nil && len(before.buckets) > 0 && len(h.buckets) > 0 && h.schema > before.schema {
		return true
	}
	now, then := h.clone(), before.clone()
	align(&now, &then)
	for i, n := range then.buckets {
		if now.buckets[i] < n {
			return true
		}
	}
	for b, n := range then.explicit {
		if now.explicit[b] < n {
			return true
		}
	}
	return now.zeros < then.zeros
}

// A bucket is bounds and what fell between them.
type bucket struct {
	bounds

	n float64
}

// list are the buckets that hold something, ascending.
func (h histogram) list() []bucket {
	var list []bucket
	if h.zeros > 0 {
		list = append(list, bucket{bounds{0, h.zero}, h.zeros})
	}
	for i, n := range h.buckets {
		list = append(list, bucket{bounds{bound(i-1, h.schema), bound(i, h.schema)}, n})
	}
	for b, n := range h.explicit {
		list = append(list, bucket{bounds{max(b.lower, 0), b.upper}, n})
	}
	list = slices.DeleteFunc(list, func(b bucket) bool { return b.n <= 0 })
	slices.SortFunc(list, func(a, b bucket) int { return cmp.Compare(a.upper, b.upper) })
	return list
}

// distribution is what a block tells of h.
func (h histogram) distribution() report.Distribution {
	d := report.Distribution{Count: int(math.Round(h.count))}
	list := h.list()
	if d.Count <= 0 || len(list) == 0 {
		return report.Distribution{}
	}
	d.Mean = h.sum / h.count
	for _, share := range report.Shares() {
		d.Quantiles = append(d.Quantiles, h.quantile(share, list))
	}
	return d
}

// quantile is what histogram_quantile of Prometheus 3 makes of buckets, and the
// one it lies in: interpolated on a logarithmic scale in exponential buckets.
func (h histogram) quantile(share float64, list []bucket) report.Quantile {
	b, part := h.seek(share, list)
	q := report.Quantile{Share: share, Low: b.lower, High: b.upper}
	switch {
	case math.IsInf(b.upper, 1):
		q.Value = b.lower
	case h.explicit != nil || b.lower <= 0:
		q.Value = b.lower + (b.upper-b.lower)*part
	default:
		from, to := math.Log2(b.lower), math.Log2(b.upper)
		q.Value = math.Exp2(from + (to-from)*part)
	}
	return q
}

// seek is the bucket in which a share of all values ends, and how far into it. As
// Prometheus does, it counts from the end that is nearer, and from below in
// explicit buckets: between two values that makes a difference.
func (h histogram) seek(share float64, list []bucket) (b bucket, part float64) {
	total, passed := 0.0, 0.0
	for _, b := range list {
		total += b.n
	}
	if share < 0.5 || h.explicit != nil {
		for _, b = range list {
			if passed += b.n; passed >= share*total {
				break
			}
		}
		return b, clamp((share*total - (passed - b.n)) / b.n)
	}
	for _, b = range slices.Backward(list) {
		if passed += b.n; passed >= (1-share)*total {
			break
		}
	}
	return b, clamp((passed - (1-share)*total) / b.n)
}

func clamp(part float64) float64 { return min(max(part, 0), 1) }
