package test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tsdbhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// TestReportOfMonths reads two months of two targets from a Prometheus, in which
// the prober was restarted some sixty times and was away for days.
func TestReportOfMonths(t *testing.T) {
	t.Parallel()
	const days = 60
	to := time.Now().Add(-time.Hour).Truncate(time.Second)
	from := to.Add(-days * 24 * time.Hour)
	dir := t.TempDir()
	made := map[string]*past{"a": {slower: 1}, "b": {slower: 1.03}}
	writeBlock(t, filepath.Join(dir, "data"), days, func(app storage.Appender) {
		for i, target := range []string{"a", "b"} {
			made[target].write(t, app, target, uint64(i), from, to)
		}
	})
	address := freeAddress(t)
	write(t, filepath.Join(dir, "prometheus.yml"), "")
	p := prometheus{url: "http://" + address, process: launch(t, "PROMETHEUS_BINARY", nil, "--config.file", filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--storage.tsdb.retention.time", "1y", "--web.listen-address", address)}
	eventually(t, "Prometheus to be ready", func() bool { return answers(t, p.url+"/-/ready") })

	began := time.Now()
	all := reported(t, p, [2]time.Time{from, to})
	t.Logf("two targets, %d days: %v", days, time.Since(began))
	for target, want := range made {
		s := all[target]
		// increase() extrapolates to the ends of the range: by less than a scrape interval, six probes.
		off := s.Succeeded - want.probes
		if off < -6 || off > 6 || s.TTFT.Count != s.Succeeded || math.Abs(float64(s.Output-100*want.probes)) > 600 || want.restarts < 20 {
			t.Errorf("%s: %d requests, %d of TTFT, %d tokens; %d were made in %d lives", target, s.Succeeded, s.TTFT.Count, s.Output, want.probes, want.restarts)
		}
		if math.Abs(s.TTFT.Mean-want.sum/float64(want.probes)) > 1e-6 {
			t.Errorf("%s: mean %v, want %v", target, s.TTFT.Mean, want.sum/float64(want.probes))
		}
	}
	compared(t, p, from, to)

	chart := filepath.Join(dir, "months.html")
	text := start(t, nil, "report", "--prometheus", p.url, "--target", "a", "--from", "20d", "--to", "10d", "--vs", "10d", "--plot", chart).said(t)
	if strings.Count(text, "Serving Benchmark Result") != 2 || !strings.Contains(text, "differences are between the means of 20 periods") {
		t.Errorf("of two ranges:\n%s", text)
	}
	if page, err := os.ReadFile(chart); err != nil || strings.Count(string(page), "<svg") < 2 {
		t.Errorf("charts: %d bytes, %v", len(page), err)
	}
}

// compared holds the comparison of the two targets against how they were made.
func compared(t *testing.T, p prometheus, from, to time.Time) {
	t.Helper()
	text := start(t, nil, "report", "--prometheus", p.url, "--format", "json", "--target", "a", "--vs", "b",
		"--from", from.UTC().Format(time.RFC3339), "--to", to.UTC().Format(time.RFC3339)).said(t)
	var document struct {
		Comparisons []struct {
			Pair  string
			Lines []struct {
				Metric string
				Pairs  int
				Shown  bool
				Ratio  struct{ Center, Low, High float64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil || len(document.Comparisons) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	c := document.Comparisons[0]
	if c.Pair != "period of 3d" || len(c.Lines) != 1 {
		t.Fatalf("%+v", c)
	}
	if l := c.Lines[0]; l.Metric != "TTFT" || l.Pairs < 18 || !l.Shown || l.Ratio.Low > 1/1.03 || l.Ratio.High < 1/1.03 || l.Ratio.High-l.Ratio.Low > 0.01 {
		t.Errorf("%+v", l)
	}
}

// writeBlock writes a block of a time series database.
func writeBlock(t *testing.T, dir string, days int, fill func(storage.Appender)) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for another process
		t.Fatal(err)
	}
	w, err := tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), dir, int64(days+2)*24*time.Hour.Milliseconds())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	app := w.Appender(t.Context())
	fill(app)
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// A past is what a prober made of one target, six probes a minute.
type past struct {
	slower           float64
	probes, restarts int
	sum              float64

	counted, total float64 // since the last restart
	buckets        map[int]float64
}

// write appends what was scraped, once a minute.
func (p *past) write(t *testing.T, app storage.Appender, target string, seed uint64, from, to time.Time) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	p.buckets = map[int]float64{}
	name := func(metric string, more ...string) labels.Labels {
		return labels.FromStrings(append([]string{"__name__", metric, "target", target, "model", "m", "prompt", "cold", "job", "prober"}, more...)...)
	}
	for at := from.Add(time.Second); at.Before(to); at = at.Add(time.Minute) {
		switch n := random.IntN(40 * 1440); {
		case n < 40:
			p.restart()
		case n < 42:
			at = at.Add(time.Duration(random.IntN(48*60)) * time.Minute)
			p.restart()
		}
		for range 6 {
			p.probe(0.1 * p.slower * math.Exp(0.1*random.NormFloat64()))
		}
		ms := at.UnixMilli()
		for _, s := range []struct {
			labels labels.Labels
			value  float64
		}{
			{name("llm_probe_probes_total", "outcome", "ok"), p.counted}, {name("llm_probe_tokens_total", "kind", "output"), 100 * p.counted},
		} {
			if _, err := app.Append(0, s.labels, ms, s.value); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := app.AppendHistogram(0, name("llm_probe_ttft_seconds"), ms, nil, p.histogram()); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *past) restart() {
	p.restarts++
	p.counted, p.total = 0, 0
	clear(p.buckets)
}

func (p *past) probe(seconds float64) {
	p.probes++
	p.counted++
	p.sum += seconds
	p.total += seconds
	p.buckets[int(math.Ceil(math.Log2(seconds)*16))]++
}

func (p *past) histogram() *tsdbhistogram.FloatHistogram {
	h := &tsdbhistogram.FloatHistogram{Schema: 4, ZeroThreshold: 0x1p-13, Count: p.counted, Sum: p.total}
	next := 0
	for n, i := range slices.Sorted(maps.Keys(p.buckets)) {
		if n > 0 && i == next {
			h.PositiveSpans[len(h.PositiveSpans)-1].Length++
		} else {
			h.PositiveSpans = append(h.PositiveSpans, tsdbhistogram.Span{Offset: int32(i - next), Length: 1}) //nolint:gosec // small
		}
		h.PositiveBuckets = append(h.PositiveBuckets, p.buckets[i])
		next = i + 1
	}
	return h
}
