package history

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// histograms are those that rules look at.
var histograms = []string{
	"llm_probe_itl_seconds", "llm_probe_tpot_seconds", "llm_probe_max_gap_seconds", "llm_probe_ttft_seconds", "llm_probe_e2el_seconds",
	"llm_prober_schedule_delay_seconds",
}

// newHistogram makes one as the prober does, with native buckets or with its classic ones.
func newHistogram(t *testing.T, name string, classic bool) prometheus.Histogram {
	t.Helper()
	if !classic {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, NativeHistogramBucketFactor: 1.0443, NativeHistogramZeroThreshold: 0x1p-13})
	}
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Buckets: classicBounds(t, name)})
}

// classicBounds returns the bounds of a histogram's classic buckets as docs/metrics.md lists them.
func classicBounds(t *testing.T, name string) []float64 {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile("(?m)^- .*`" + name + "`.*: ([0-9.e, -]+)$").FindSubmatch(page)
	if line == nil {
		t.Fatalf("docs/metrics.md has no bounds of %s", name)
	}
	var bounds []float64
	for text := range strings.SplitSeq(string(line[1]), ", ") {
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		bounds = append(bounds, bound)
	}
	return bounds
}

// A watched is the target of a scenario with the state of its metrics.
type watched struct {
	scenario

	server  *server
	due     time.Time // of the probe that is next or under way
	pending *probe    // the one under way; nil if none is

	latencies           map[string]prometheus.Histogram // by name
	counts              map[string]float64              // of counters, by name and labels
	lastProbe, lastGood time.Time
	series              map[string]labels.Labels // by name and labels
}

// newWatched is the target of a scenario.
func newWatched(t *testing.T, s scenario) *watched {
	t.Helper()
	s.group, s.interval = cmp.Or(s.group, s.name), cmp.Or(s.interval, 10*time.Second)
	s.drift, s.weekend = cmp.Or(s.drift, drift), cmp.Or(s.weekend, 1)
	s.itl, s.ttft = cmp.Or(s.itl, 1), cmp.Or(s.ttft, 1)
	w := &watched{
		scenario: s, server: newServer(s), due: begin().Add(s.interval / 3),
		latencies: map[string]prometheus.Histogram{}, counts: map[string]float64{}, series: map[string]labels.Labels{},
	}
	for _, name := range histograms {
		w.latencies[name] = newHistogram(t, name, s.classic)
	}
	for series, values := range map[string]string{
		"llm_probe_probes_total;outcome;": "ok dns connect tls timeout stalled unauthorized rate_limited overloaded " +
			"rejected server_error filtered " +
			"truncated malformed not_streamed empty wrong_length wrong_answer",
		"llm_probe_objective_events_total;objective;availability;verdict;": "good bad",
		"llm_probe_objective_events_total;objective;ttft;verdict;":         "good bad",
		"llm_probe_skipped_total;reason;":                                  "overlap budget late backoff",
		"llm_probe_prompt_cache_total;state;":                              "cold warm contaminated unknown",
	} {
		for value := range strings.FieldsSeq(values) {
			w.counts[series+value] = 0
		}
	}
	return w
}

// until probes up to a time.
func (w *watched) until(now time.Time) {
	for !w.due.After(now) {
		if w.pending == nil {
			p := w.server.probe(w.due)
			w.pending = &p
		}
		end := w.due.Add(time.Duration(w.pending.e2el * float64(time.Second)))
		if end.After(now) {
			return
		}
		w.record(*w.pending, end)
		w.pending, w.due = nil, w.due.Add(w.interval)
	}
}

// ttftLimit is what the objective of TTFT allows, in seconds.
const ttftLimit = 3.0

// record counts a probe that ended.
func (w *watched) record(p probe, end time.Time) {
	for objective, good := range map[string]bool{"availability": !p.failed, "ttft": !p.failed && p.ttft <= ttftLimit} {
		verdict := map[bool]string{true: "good", false: "bad"}[good]
		w.counts["llm_probe_objective_events_total;objective;"+objective+";verdict;"+verdict]++
	}
	w.lastProbe = end
	if p.failed {
		w.counts["llm_probe_probes_total;outcome;server_error"]++
		return
	}
	w.lastGood = end
	w.counts["llm_probe_probes_total;outcome;ok"]++
	w.counts["llm_probe_prompt_cache_total;state;cold"]++
	for name, v := range map[string]float64{
		"llm_probe_ttft_seconds": p.ttft, "llm_probe_tpot_seconds": p.tpot, "llm_probe_e2el_seconds": p.e2el,
		"llm_probe_max_gap_seconds": p.maxGap, "llm_prober_schedule_delay_seconds": 0.0003,
	} {
		w.latencies[name].Observe(v)
	}
	for i := range tokens - 1 {
		w.latencies["llm_probe_itl_seconds"].Observe(w.server.gap(p, i))
	}
}

// scrape appends the state of all series.
func (w *watched) scrape(app storage.Appender, now time.Time) error {
	w.until(now)
	oldest, running := 0.0, 0.0
	if w.pending != nil {
		oldest, running = now.Sub(w.due).Seconds(), 1
	}
	gauges := map[string]float64{
		"llm_probe_interval_seconds":                                                         w.interval.Seconds(),
		"llm_probe_in_flight":                                                                running,
		"llm_probe_oldest_in_flight_seconds":                                                 oldest,
		"llm_probe_objective_goal_ratio;objective;availability":                              0.99,
		"llm_probe_objective_goal_ratio;objective;ttft":                                      0.99,
		"llm_probe_objective_limit_seconds;objective;ttft":                                   ttftLimit,
		"llm_probe_tls_earliest_cert_expiry_timestamp_seconds":                               float64(now.Add(60 * 24 * time.Hour).Unix()),
		"llm_probe_target_info;group;" + w.group + ";workload;" + w.workload + ";api;openai": 1,
		"up":                                 1,
		"llm_prober_build_info;version;test": 1,
		"llm_prober_config_last_reload_successful":                1,
		"llm_prober_config_last_reload_success_timestamp_seconds": 1,
		"llm_prober_export_failures_total":                        0,
	}
	if !w.lastProbe.IsZero() {
		gauges["llm_probe_last_probe_timestamp_seconds"] = seconds(w.lastProbe)
	}
	if !w.lastGood.IsZero() {
		gauges["llm_probe_last_success_timestamp_seconds"] = seconds(w.lastGood)
		gauges["llm_probe_last_available_timestamp_seconds"] = seconds(w.lastGood)
	}
	for _, values := range []map[string]float64{w.counts, gauges} {
		for name, v := range values {
			if err := w.append(app, now, name, v); err != nil {
				return err
			}
		}
	}
	for name, h := range w.latencies {
		if err := w.appendLatency(app, now, name, h); err != nil {
			return err
		}
	}
	return nil
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// appendLatency appends a histogram: one native sample, or one of each bucket.
func (w *watched) appendLatency(app storage.Appender, now time.Time, name string, from prometheus.Histogram) error {
	var m dto.Metric
	if err := from.Write(&m); err != nil {
		return err
	}
	h := m.GetHistogram()
	if len(h.Bucket) == 0 {
		_, err := app.AppendHistogram(0, w.labels(name), now.UnixMilli(), native(h), nil)
		return err
	}
	count := float64(h.GetSampleCount())
	err := errors.Join(w.append(app, now, name+"_count", count), w.append(app, now, name+"_sum", h.GetSampleSum()),
		w.append(app, now, name+"_bucket;le;+Inf", count))
	for _, b := range h.Bucket {
		err = errors.Join(err, w.append(app, now, name+"_bucket;le;"+strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64), float64(b.GetCumulativeCount())))
	}
	return err
}

// native is a native histogram as Prometheus stores what it scrapes.
func native(h *dto.Histogram) *histogram.Histogram {
	stored := &histogram.Histogram{
		Schema: h.GetSchema(), ZeroThreshold: h.GetZeroThreshold(), ZeroCount: h.GetZeroCount(), Count: h.GetSampleCount(), Sum: h.GetSampleSum(),
		PositiveBuckets: h.GetPositiveDelta(),
	}
	for _, s := range h.GetPositiveSpan() {
		stored.PositiveSpans = append(stored.PositiveSpans, histogram.Span{Offset: s.GetOffset(), Length: s.GetLength()})
	}
	return stored
}

func (w *watched) append(app storage.Appender, now time.Time, name string, v float64) error {
	if _, err := app.Append(0, w.labels(name), now.UnixMilli(), v); err != nil {
		return fmt.Errorf("append %s: %w", name, err)
	}
	return nil
}

// labels are those of a series whose name is followed by labels, all parted by
// semicolons. Every target has a prober of its own.
func (w *watched) labels(name string) labels.Labels {
	if known, ok := w.series[name]; ok {
		return known
	}
	parts := strings.Split(name, ";")
	all := []string{model.MetricNameLabel, parts[0], "job", "prober", "instance", w.name}
	if strings.HasPrefix(parts[0], "llm_probe_") {
		all = append(all, "target", w.name, "model", "llama", "prompt", "cold")
	}
	made := labels.FromStrings(append(all, parts[1:]...)...)
	w.series[name] = made
	return made
}
