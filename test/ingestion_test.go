package test

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
)

// An ingestion is one path of the metrics into a Prometheus.
type ingestion struct {
	name    string
	into    prometheus
	job     string
	classic bool // classic buckets only
	halting bool // brings exemplars of the first series of a histogram only
}

// agree holds what came by this path against the truth.
func (r ingestion) agree(t *testing.T, want truth) {
	t.Helper()
	for target, of := range want.samples {
		for _, name := range histograms {
			what := fmt.Sprintf("%s, %s of %s", r.name, name, target)
			n := float64(len(of[name]))
			eventually(t, what+": all samples", func() bool { return r.count(t, name, target) == n })
			r.agreeSum(t, what, name, target, of[name])
			for _, q := range []float64{0.5, 0.9} {
				r.agreeQuantile(t, what, q, name, target, want)
			}
		}
	}
	for _, name := range histograms {
		r.agreeExemplars(t, name, want)
	}
}

// selector selects the histogram of a target, or one of its classic series. It has
// others, empty ones, before the server told its model.
func (r ingestion) selector(name, suffix, target string) string {
	return fmt.Sprintf(`llm_probe_%s_seconds%s{job=%q,target=%q,model!="unknown"}`, name, suffix, r.job, target)
}

// latest is what came last of a selector's series. A scrape that took longer than its
// interval has failed, and until the next an instant query finds nothing.
func (r ingestion) latest(name, suffix, target string) string {
	return "last_over_time(" + r.selector(name, suffix, target) + "[5m])"
}

// value is the one value of an expression; NaN if there is none yet.
func (r ingestion) value(t *testing.T, expr string) float64 {
	t.Helper()
	vector := r.into.query(t, expr)
	if len(vector) > 1 {
		t.Fatalf("%s: %s has %d results: %v", r.name, expr, len(vector), vector)
	}
	if len(vector) == 0 {
		return math.NaN()
	}
	return float64(vector[0].Value)
}

func (r ingestion) count(t *testing.T, name, target string) float64 {
	t.Helper()
	if r.classic {
		return r.value(t, r.latest(name, "_count", target))
	}
	return r.value(t, "histogram_count("+r.latest(name, "", target)+")")
}

// agreeSum holds a sum. What is not above 2^-13 s is sent as 0 by OTLP.
func (r ingestion) agreeSum(t *testing.T, what, name, target string, samples []float64) {
	t.Helper()
	expr := "histogram_sum(" + r.latest(name, "", target) + ")"
	if r.classic {
		expr = r.latest(name, "_sum", target)
	}
	got, most, least := r.value(t, expr), 0.0, 0.0
	for _, s := range samples {
		most += s
		if s > 0x1p-13 {
			least += s
		}
	}
	if scraped := !strings.Contains(r.name, "OTLP") && !strings.Contains(r.name, "Collector"); scraped {
		least = most
	}
	if rounding := 1e-6 * most; got < least-rounding || got > most+rounding {
		t.Errorf("%s: sum %v, want %v to %v", what, got, least, most)
	}
}

// agreeQuantile holds a quantile to lie in the bucket, native or classic, of the
// sample that has the rank.
func (r ingestion) agreeQuantile(t *testing.T, what string, q float64, name, target string, want truth) {
	t.Helper()
	samples := want.samples[target][name]
	rank := q * float64(len(samples)) // where it is whole, the quantile is of either sample beside it
	sample := samples[int(rank)]
	lower, _ := r.bucket(name, target, samples[int(math.Ceil(rank))-1], want)
	_, upper := r.bucket(name, target, sample, want)
	expr := r.latest(name, "", target)
	if r.classic {
		expr = r.latest(name, "_bucket", target)
	}
	got := r.value(t, fmt.Sprintf("histogram_quantile(%v, %s)", q, expr))
	if !(got >= lower*(1-1e-9) && got <= upper*(1+1e-9)) {
		t.Errorf("%s: quantile %v is %v, want %v to %v around %v", what, q, got, lower, upper, sample)
	}
}

// bucket are the bounds of the bucket, native or classic, that holds a sample.
func (r ingestion) bucket(name, target string, sample float64, want truth) (lower, upper float64) {
	switch {
	case r.classic:
		return classicBucket(histogram(want.text, name, target), sample)
	case sample <= 0x1p-13: // the zero bucket
		return 0, 0x1p-13
	}
	return sample / math.Exp2(1.0/16), sample * math.Exp2(1.0/16)
}

// classicBucket are the bounds of the classic bucket that holds a value.
func classicBucket(h *dto.Histogram, value float64) (lower, upper float64) {
	for _, b := range h.Bucket {
		if upper = b.GetUpperBound(); value <= upper {
			break
		}
		lower = upper
	}
	return lower, upper
}

// agreeExemplars holds that there are exemplars, and that each is of a probe.
// Prometheus 3.15 reads those of the first series of a histogram only if it
// scrapes native buckets alone: see docs/scraping.md.
func (r ingestion) agreeExemplars(t *testing.T, name string, want truth) {
	t.Helper()
	suffix := ""
	if r.classic {
		suffix = "_bucket"
	}
	for n, target := range slices.Sorted(maps.Keys(want.samples)) {
		exemplars := r.exemplars(t, r.selector(name, suffix, target))
		if len(exemplars) == 0 && (!r.halting || n == 0) {
			t.Errorf("%s, %s of %s: no exemplars", r.name, name, target)
		}
		for _, id := range exemplars {
			if len(id) != 32 || !want.traces[id] {
				t.Errorf("%s, %s of %s: trace_id %q is of no probe", r.name, name, target, id)
			}
		}
	}
}

// exemplars are the trace ids of the exemplars of a series.
func (r ingestion) exemplars(t *testing.T, selector string) []string {
	t.Helper()
	var series []struct {
		Exemplars []struct{ Labels map[string]string }
	}
	r.into.api(t, "query_exemplars", url.Values{
		"query": {selector},
		"start": {time.Now().Add(-time.Hour).Format(time.RFC3339)}, "end": {time.Now().Add(time.Hour).Format(time.RFC3339)},
	}, &series)
	var ids []string
	for _, s := range series {
		for _, e := range s.Exemplars {
			ids = append(ids, e.Labels["trace_id"])
		}
	}
	return ids
}

// series are all of our metrics that came by a path, by name and labels, without
// the labels that say how they came. Budgets go on being skipped, and are left
// out. A scrape that took longer than its interval has failed, and until the next
// there is no series: then it looks again.
func (r ingestion) series(t *testing.T) map[string]*model.Sample {
	t.Helper()
	var found model.Vector
	eventually(t, r.name+": series", func() bool {
		found = r.into.query(t, fmt.Sprintf(`{__name__=~"llm_probe.+",job=%q} unless {model="unknown"}`, r.job))
		return len(found) > 0
	})
	all := map[string]*model.Sample{}
	for _, s := range found {
		for _, label := range []model.LabelName{"job", "instance", "exported_job", "exported_instance"} {
			delete(s.Metric, label)
		}
		if s.Metric["reason"] != "budget" {
			all[s.Metric.String()] = s
		}
	}
	return all
}

// sameSeries holds that names, labels and values of all series that were sent
// are those that were scraped. What is scraped and was not sent is a histogram
// without a sample: see docs/metrics.md. What was known of a target before its
// server taught better has ended, which OTLP cannot say: see docs/otlp.md.
func sameSeries(t *testing.T, scraped, sent map[string]*model.Sample) {
	t.Helper()
	if len(scraped) < 100 || len(sent) < 100 {
		t.Errorf("%d series were scraped, %d sent", len(scraped), len(sent))
	}
	for name, got := range sent {
		want := scraped[name]
		switch {
		case want == nil && got.Metric["__name__"] == "llm_probe_target_info":
		case want == nil:
			t.Errorf("%s is sent, and not scraped", name)
		case want.Value != got.Value || !sameBuckets(want.Histogram, got.Histogram):
			t.Errorf("scraped %v, sent %v", want, got)
		}
	}
	for name, want := range scraped {
		if empty := want.Histogram != nil && want.Histogram.Count == 0; sent[name] == nil && !empty {
			t.Errorf("%s is scraped, and not sent", name)
		}
	}
}

// sameBuckets compares two histograms bucket for bucket; nil is none. Only how wide
// the zero bucket is OpenTelemetry does not say.
func sameBuckets(a, b *model.SampleHistogram) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && slices.EqualFunc(a.Buckets, b.Buckets, func(a, b *model.HistogramBucket) bool {
		return a.Count == b.Count && (a.Lower == b.Lower && a.Upper == b.Upper || a.Lower < 0 && b.Lower < 0)
	})
}
