//go:build linux

package performance_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// What a Prometheus asks for that scrapes as by default, and natively.
const (
	text     = "text/plain;version=0.0.4"
	protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

// fetch gets a page of the prober as it is sent.
func fetch(b *testing.B, url, accept, encoding string) []byte {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
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
		b.Fatalf("GET %s: %s, %v", url, response.Status, err)
	}
	return body
}

// timed is how long a scrape takes, the shortest of three, and its size in bytes.
func timed(b *testing.B, base, accept, encoding string) (took time.Duration, size int) {
	b.Helper()
	took = time.Hour
	for range 3 {
		began := time.Now()
		size = len(fetch(b, base+"/metrics", accept, encoding))
		took = min(took, time.Since(began))
	}
	return took, size
}

// A page is one scrape, by metric.
type page map[string]*dto.MetricFamily

func scrape(b *testing.B, base string) page {
	b.Helper()
	all := page{}
	decoder := expfmt.NewDecoder(bytes.NewReader(fetch(b, base+"/metrics", protobuf, "identity")),
		expfmt.NewFormat(expfmt.TypeProtoDelim))
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			b.Fatal(err)
		}
		all[family.GetName()] = &family
	}
}

// sum adds up a metric's series whose label has a value; all of them if name is
// empty.
func (p page) sum(metric, name, value string) float64 {
	sum := 0.0
	for _, m := range p[metric].GetMetric() {
		ours := name == ""
		for _, label := range m.Label {
			ours = ours || label.GetName() == name && label.GetValue() == value
		}
		if ours {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// counts adds up how much was observed, over all series of a summary.
func (p page) counts(metric string) float64 {
	sum := 0.0
	for _, m := range p[metric].GetMetric() {
		sum += float64(m.GetSummary().GetSampleCount())
	}
	return sum
}

// series is how many a Prometheus makes of the page that keeps native histograms.
func (p page) series() int {
	n := 0
	for _, family := range p {
		for _, m := range family.Metric {
			n++
			if s := m.Summary; s != nil {
				n += 1 + len(s.Quantile) // with count and sum
			}
		}
	}
	return n
}

// samples is how many series a Prometheus makes of a page in text.
func samples(page []byte) int {
	n := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

// A distribution is how many values lie in each bucket of a native histogram of
// schema 4, by the bucket's number: number i ends at 2^(i/16). What counts as zero
// lies in zeroes.
type distribution map[int]float64

const (
	schema = 4
	zeroes = math.MinInt
)

// distribution adds up the histograms of all series of a metric.
func (p page) distribution(b *testing.B, metric string) distribution {
	b.Helper()
	d := distribution{}
	for _, m := range p[metric].GetMetric() {
		h := m.GetHistogram()
		coarser := schema - h.GetSchema() // a series with too many buckets halves their number
		if coarser < 0 {
			b.Fatalf("%s has schema %d", metric, h.GetSchema())
		}
		d[zeroes] += float64(h.GetZeroCount())
		at, count, delta := int32(0), int64(0), 0
		for _, span := range h.PositiveSpan {
			at += span.GetOffset()
			for range span.GetLength() {
				count += h.PositiveDelta[delta]
				d[int(at)<<coarser] += float64(count)
				at, delta = at+1, delta+1
			}
		}
	}
	return d
}

// since is what came after an earlier scrape.
func (d distribution) since(earlier distribution) distribution {
	more := distribution{}
	for i, n := range d {
		more[i] = n - earlier[i]
	}
	return more
}

// quantile is the end of the bucket in which it lies, in seconds: at most 4.4%
// above the value.
func (d distribution) quantile(q float64) float64 {
	total, below := 0.0, 0.0
	for _, n := range d {
		total += n
	}
	numbers := sortedKeys(d)
	for _, i := range numbers {
		if below += d[i]; below >= q*total && i != zeroes {
			return math.Exp2(float64(i) / (1 << schema))
		}
		if i == zeroes && below >= q*total {
			return 0x1p-13 // the zero bucket's end
		}
	}
	return math.NaN()
}
