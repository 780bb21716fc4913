//go:build linux

package performance_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser/posrange"
)

// What a Prometheus asks for that scrapes as by default, and natively.
const (
	text     = "text/plain;version=0.0.4"
	protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

// fetch gets the metrics of the prober as they are sent.
func fetch(b *testing.B, base, accept, encoding string) []byte {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, base+"metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", encoding) // given by hand, so that net/http unpacks nothing
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.Fatalf("GET %s: %s, %v", base, response.Status, err)
	}
	return body
}

// timed returns how long a scrape takes, the shortest of three, and its size in bytes.
func timed(b *testing.B, base, accept, encoding string) (took time.Duration, size int) {
	b.Helper()
	took = time.Hour
	for range 3 {
		began := time.Now()
		size = len(fetch(b, base, accept, encoding))
		took = min(took, time.Since(began))
	}
	return took, size
}

// A page is one scrape as Prometheus reads it.
type page struct {
	series     int                                  // that it keeps
	of         map[string]int                       // series of a metric
	sums       map[string]float64                   // of a metric; by its name and " ok", of its series with outcome ok
	histograms map[string]*histogram.FloatHistogram // native, summed over their series
}

// scrape returns what Prometheus reads of a page in a format, native histograms alone where it has them.
func scrape(b *testing.B, base, format string) page {
	b.Helper()
	p := page{of: map[string]int{}, sums: map[string]float64{}, histograms: map[string]*histogram.FloatHistogram{}}
	parser, err := textparse.New(fetch(b, base, format, "identity"), format, nil, textparse.ParserOptions{})
	for err == nil {
		var entry textparse.Entry
		var l labels.Labels
		if entry, err = parser.Next(); err != nil || entry != textparse.EntrySeries && entry != textparse.EntryHistogram {
			continue
		}
		parser.Labels(&l)
		name := l.Get(model.MetricNameLabel)
		p.series++
		p.of[name]++
		if entry == textparse.EntrySeries {
			_, _, value := parser.Series()
			p.sums[name] += value
			if l.Get("outcome") == "ok" {
				p.sums[name+" ok"] += value
			}
			continue
		}
		_, _, h, _ := parser.Histogram()
		if sum := p.histograms[name]; sum == nil {
			p.histograms[name] = h.ToFloat(nil)
		} else {
			p.histograms[name], _, _, err = sum.Add(h.ToFloat(nil))
		}
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
	return p
}

// grown returns by how much a metric has grown since an earlier scrape.
func (p page) grown(earlier page, metric string) float64 {
	return p.sums[metric] - earlier.sums[metric]
}

// since returns what a native histogram has got since an earlier scrape.
func (p page) since(b *testing.B, earlier page, metric string) *histogram.FloatHistogram {
	b.Helper()
	h, _, _, err := p.histograms[metric].Copy().Sub(earlier.histograms[metric])
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// quantileMS returns a quantile in milliseconds, interpolated in its bucket.
func quantileMS(q float64, h *histogram.FloatHistogram) float64 {
	seconds, _ := promql.HistogramQuantile(q, h, "", posrange.PositionRange{})
	return 1e3 * seconds
}
