package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// hundred is a result of 100 tokens, one a frame.
func hundred() *probe.Result {
	r := succeeded5()
	r.Usage.Output, r.Usage.Total = wire.Tokens(100), wire.Tokens(200)
	r.Tokens = nil
	for i := range 100 {
		at := ms(600+18*float64(i)) + time.Duration(i*i)*time.Microsecond
		r.Tokens = append(r.Tokens, probe.Arrival{At: at, Read: uint32(i), N: 1})
	}
	r.Timeline.Finish = r.Timeline.Tokens[99].At
	r.Elapsed = r.Timeline.Finish + ms(5)
	return r
}

func BenchmarkRecord(b *testing.B) {
	for _, of := range []struct {
		name string
		to   *Recorder
	}{
		{"prometheus", scrapedOnly(Build{})},
		{"and otlp", newRecorder(Options{}, newMeters(""))},
		{"and otlp with GenAI", newRecorder(Options{GenAI: true}, newMeters(""))},
	} {
		b.Run(of.name, func(b *testing.B) {
			of.to.Set(fixedTarget())
			r := hundred()
			b.ReportAllocs()
			for b.Loop() {
				of.to.Record(r)
			}
		})
	}
}

// BenchmarkExposition serves /metrics of targets that have seen successes and
// failures, in each format as Prometheus asks for it, plain and zipped. B is the
// length of a scrape's body.
func BenchmarkExposition(b *testing.B) {
	for _, targets := range []int{1, 200} {
		p := scrapedOnly(Build{Version: "v1.2.3"})
		for n := range targets {
			t := fixedTarget()
			t.Name = fmt.Sprintf("target-%03d", n)
			p.Set(t)
			for _, r := range []*probe.Result{hundred(), stalled(), refused()} {
				r.Target = t.Name
				p.Record(r)
			}
		}
		for _, format := range []struct{ name, accept string }{
			{"text", "text/plain;version=0.0.4"},
			{"OpenMetrics", "application/openmetrics-text;version=1.0.0"},
			{"protobuf", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"},
		} {
			for _, encoding := range []string{"identity", "gzip"} {
				b.Run(fmt.Sprintf("%d/%s/%s", targets, format.name, encoding), func(b *testing.B) {
					expose(b, p.Handler(func(err error) { b.Error(err) }), format.accept, encoding)
				})
			}
		}
	}
}

func expose(b *testing.B, handler http.Handler, accept, encoding string) {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", encoding)
	length := 0
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		length = w.Body.Len()
	}
	b.ReportMetric(float64(length), "B")
}
