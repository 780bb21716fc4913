package test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// histograms are the metrics that every exporter must have for every target.
var histograms = []string{"ttft", "tpot", "itl", "e2el"}

// A receiver takes OTLP metrics over HTTP and keeps the last of each series.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	points map[string]*metrics.ExponentialHistogramDataPoint // by metric and target
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{points: map[string]*metrics.ExponentialHistogramDataPoint{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	var body io.Reader = request.Body
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	var export collector.ExportMetricsServiceRequest
	if err = errors.Join(err, proto.Unmarshal(data, &export)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.keep(&export)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *receiver) keep(export *collector.ExportMetricsServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range export.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				for _, point := range m.GetExponentialHistogram().GetDataPoints() {
					r.points[m.Name+" "+attribute(point.Attributes, "target")] = point
				}
			}
		}
	}
}

func attribute(list []*common.KeyValue, key string) string {
	for _, kv := range list {
		if kv.Key == key {
			return kv.Value.GetStringValue()
		}
	}
	return ""
}

// TestExportersAgree probes two targets until their budgets are spent, and compares
// what a scrape in protobuf, a scrape in text and an OTLP receiver got.
func TestExportersAgree(t *testing.T) {
	t.Parallel()
	simulator := start(t, nil, "simulate", "--profile", "fast,production-stack", "--listen", "127.0.0.1:0")
	fast, stack := simulator.after(t, "fast"), simulator.after(t, "production-stack")
	otlp := newReceiver(t)
	prober := start(t, []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + otlp.URL + "/v1/metrics"},
		"run", fast, stack, "--listen-address", "127.0.0.1:0", "--log-format", "json",
		"--qps", "2", "--prompt-tokens", "100", "--max-tokens", "20", "--token-budget-per-day", "600")
	base := prober.listening(t)

	eventually(t, "five results of each target and both budgets spent", func() bool {
		text, _ := get(t, base+"metrics", "text/plain")
		return len(results(t, base)) == 10 && spent(text) == 2
	})
	text, _ := get(t, base+"metrics", "text/plain")
	binary, response := get(t, base+"metrics", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	native := families(t, binary, expfmt.ResponseFormat(response.Header))
	classic := families(t, text, expfmt.NewFormat(expfmt.TypeTextPlain))
	if code := prober.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}

	otlp.mu.Lock()
	defer otlp.mu.Unlock()
	for _, target := range []string{strings.TrimPrefix(fast, "http://"), strings.TrimPrefix(stack, "http://")} {
		for _, name := range histograms {
			scraped := histogram(native, name, target)
			compareClassic(t, name+" of "+target, scraped, histogram(classic, name, target))
			compareOTLP(t, name+" of "+target, scraped, otlp.points["llm.probe."+name+" "+target])
		}
	}
}

// spent counts the targets that have skipped a slot for their budget.
func spent(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "llm_probe_skipped_total{") && strings.Contains(line, `reason="budget"`) && !strings.HasSuffix(line, " 0\n") {
			n++
		}
	}
	return n
}

func families(t *testing.T, body string, format expfmt.Format) map[string]*dto.MetricFamily {
	t.Helper()
	if format.FormatType() == expfmt.TypeTextPlain {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		all, err := parser.TextToMetricFamilies(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all, decoder := map[string]*dto.MetricFamily{}, expfmt.NewDecoder(bytes.NewReader([]byte(body)), format)
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[family.GetName()] = &family
	}
}

// histogram is the histogram of a target; empty if there is none.
func histogram(all map[string]*dto.MetricFamily, name, target string) *dto.Histogram {
	for _, m := range all["llm_probe_"+name+"_seconds"].GetMetric() {
		for _, label := range m.Label {
			if label.GetName() == "target" && label.GetValue() == target {
				return m.Histogram
			}
		}
	}
	return &dto.Histogram{}
}

// compareClassic holds that the classic buckets of both formats are the same,
// and are there.
func compareClassic(t *testing.T, what string, native, text *dto.Histogram) {
	t.Helper()
	if native.GetSchema() != 4 || len(native.PositiveSpan) == 0 {
		t.Errorf("%s: schema %d with %d spans, want a native histogram of schema 4", what, native.GetSchema(), len(native.PositiveSpan))
	}
	bounds := map[float64]uint64{}
	for _, b := range native.Bucket {
		bounds[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	finite := 0
	for _, b := range text.Bucket {
		if math.IsInf(b.GetUpperBound(), 1) {
			continue
		}
		finite++
		if bounds[b.GetUpperBound()] != b.GetCumulativeCount() {
			t.Errorf("%s: %d up to %v in text, %d in protobuf", what, b.GetCumulativeCount(), b.GetUpperBound(), bounds[b.GetUpperBound()])
		}
	}
	if finite < 20 {
		t.Errorf("%s: %d classic buckets", what, finite)
	}
	if native.GetSampleCount() != text.GetSampleCount() || native.GetSampleSum() != text.GetSampleSum() || native.GetSampleCount() == 0 {
		t.Errorf("%s: %d samples with sum %v in protobuf, %d with %v in text", what,
			native.GetSampleCount(), native.GetSampleSum(), text.GetSampleCount(), text.GetSampleSum())
	}
}

// compareOTLP holds count, sum and every bucket of the two against one another.
func compareOTLP(t *testing.T, what string, native *dto.Histogram, point *metrics.ExponentialHistogramDataPoint) {
	t.Helper()
	if point.GetCount() != native.GetSampleCount() || point.GetScale() != 4 || point.GetZeroCount() != native.GetZeroCount() {
		t.Errorf("%s: OTLP has %d samples at scale %d, the scrape %d", what, point.GetCount(), point.GetScale(), native.GetSampleCount())
	}
	// What is not above 2^-13 s is sent as 0, and is missing in the sum: docs/metrics.md.
	rounding, hidden := 1e-9*native.GetSampleSum(), float64(native.GetZeroCount())*0x1p-13
	if missing := native.GetSampleSum() - point.GetSum(); missing < -rounding || missing > hidden+rounding {
		t.Errorf("%s: sum %v by OTLP, %v by the scrape", what, point.GetSum(), native.GetSampleSum())
	}
	scraped, sent := nativeBuckets(native), map[int]uint64{}
	for i, n := range point.GetPositive().GetBucketCounts() {
		if n > 0 {
			sent[int(point.Positive.Offset)+i+1] = n // OTLP's bucket i is Prometheus' i+1
		}
	}
	for _, i := range indices(scraped, sent) {
		if scraped[i] != sent[i] {
			t.Errorf("%s: bucket %d holds %d by the scrape, %d by OTLP", what, i, scraped[i], sent[i])
		}
	}
}

// nativeBuckets are the buckets of a native histogram that hold something.
func nativeBuckets(h *dto.Histogram) map[int]uint64 {
	buckets := map[int]uint64{}
	index, delta, count := 0, 0, int64(0)
	for _, span := range h.PositiveSpan {
		index += int(span.GetOffset())
		for range span.GetLength() {
			count += h.PositiveDelta[delta]
			if count > 0 {
				buckets[index] = uint64(count)
			}
			index++
			delta++
		}
	}
	return buckets
}

func indices(maps ...map[int]uint64) []int {
	var all []int
	for _, m := range maps {
		for i := range m {
			all = append(all, i)
		}
	}
	sort.Ints(all)
	return all
}
