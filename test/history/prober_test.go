package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// outcomes are those of a probe; their series exist from the start.
func outcomes() []string {
	return []string{
		"ok", "dns", "connect", "tls", "timeout", "stalled", "rate_limited", "overloaded", "rejected", "server_error",
		"filtered", "truncated", "malformed", "not_streamed", "empty", "wrong_length", "wrong_answer",
	}
}

// A latency is one histogram of the prober's, native or classic.
type latency struct {
	name    string
	native  *native
	classic *classic
}

// observe adds a value in seconds whose position is known.
func (l *latency) observe(seconds, position float64) {
	if l.classic != nil {
		l.classic.observe(seconds)
		return
	}
	l.native.observe(seconds, position)
}

// A watched is one target of a prober with the state of its metrics.
type watched struct {
	name, group string
	server      *server
	interval    time.Duration // between probes
	due         time.Time     // of the probe that is next or under way
	pending     *probe        // the one under way; nil if none is

	latencies           map[string]*latency
	counts              map[string]float64 // of counters, by name and labels
	lastProbe, lastGood time.Time
	references          map[string]storage.SeriesRef
	series              map[string]labels.Labels
}

// newWatched is a target whose first probe is due at start. Its histograms are
// native, or classic.
func newWatched(name, group string, s *server, interval time.Duration, start time.Time, classicOnly bool) *watched {
	w := &watched{
		name: name, group: group, server: s, interval: interval, due: start.Add(interval / 3),
		latencies: map[string]*latency{}, counts: map[string]float64{},
		references: map[string]storage.SeriesRef{}, series: map[string]labels.Labels{},
	}
	for name, bounds := range histograms() {
		l := &latency{name: name, native: newNative()}
		if classicOnly {
			l = &latency{name: name, classic: newClassic(bounds)}
		}
		w.latencies[name] = l
	}
	for _, o := range outcomes() {
		w.counts["llm_probe_probes_total;outcome;"+o] = 0
	}
	for _, o := range []string{"availability", "ttft"} {
		for _, v := range []string{"good", "bad"} {
			w.counts["llm_probe_objective_events_total;objective;"+o+";verdict;"+v] = 0
		}
	}
	for _, r := range []string{"overlap", "budget", "late", "backoff"} {
		w.counts["llm_probe_skipped_total;reason;"+r] = 0
	}
	for _, s := range []string{"cold", "warm", "contaminated", "unknown"} {
		w.counts["llm_probe_prompt_cache_total;state;"+s] = 0
	}
	return w
}

// until probes up to a time.
func (w *watched) until(now time.Time) {
	for {
		if w.pending == nil {
			if w.due.After(now) {
				return
			}
			p := w.server.probe(w.due)
			w.pending = &p
		}
		end := w.due.Add(time.Duration(w.pending.e2el * float64(time.Second)))
		if end.After(now) {
			return
		}
		w.record(*w.pending, end)
		w.pending = nil
		w.due = w.due.Add(w.interval)
	}
}

// ttftLimit is what the objective of TTFT allows, in seconds.
const ttftLimit = 3.0

// record counts a probe that ended.
func (w *watched) record(p probe, end time.Time) {
	verdicts := [2]string{"bad", "good"}
	judge := func(objective string, good bool) {
		i := 0
		if good {
			i = 1
		}
		w.counts["llm_probe_objective_events_total;objective;"+objective+";verdict;"+verdicts[i]]++
	}
	judge("availability", !p.failed)
	judge("ttft", !p.failed && p.ttft <= ttftLimit)
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
		w.latencies[name].observe(v, position(v))
	}
	gaps, base := w.latencies["llm_probe_itl_seconds"], position(p.itl)
	for i := range tokens - 1 {
		g := w.server.token(p, i)
		gaps.observe(p.itl*g.factor, base+g.position)
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
		"llm_probe_interval_seconds":                             w.interval.Seconds(),
		"llm_probe_in_flight":                                    running,
		"llm_probe_oldest_in_flight_seconds":                     oldest,
		"llm_probe_objective_goal_ratio;objective;availability":  0.99,
		"llm_probe_objective_goal_ratio;objective;ttft":          0.99,
		"llm_probe_objective_limit_seconds;objective;ttft":       ttftLimit,
		"llm_probe_tls_earliest_cert_expiry_timestamp_seconds":   float64(now.Add(60 * 24 * time.Hour).Unix()),
		"llm_probe_target_info;group;" + w.group + ";api;openai": 1,
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
	for _, l := range w.latencies {
		if err := w.appendLatency(app, now, l); err != nil {
			return err
		}
	}
	return nil
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// appendLatency appends a histogram: one native sample, or one of each bucket.
func (w *watched) appendLatency(app storage.Appender, now time.Time, l *latency) error {
	if l.classic == nil {
		ref, err := app.AppendHistogram(w.references[l.name], w.labels(l.name), now.UnixMilli(), l.native.sample(), nil)
		w.references[l.name] = ref
		return err
	}
	total := 0.0
	for i, n := range l.classic.counts {
		total += n
		le := "+Inf"
		if i < len(l.classic.bounds) {
			le = strconv.FormatFloat(l.classic.bounds[i], 'g', -1, 64)
		}
		if err := w.append(app, now, l.name+"_bucket;le;"+le, total); err != nil {
			return err
		}
	}
	if err := w.append(app, now, l.name+"_count", total); err != nil {
		return err
	}
	return w.append(app, now, l.name+"_sum", l.classic.sum)
}

func (w *watched) append(app storage.Appender, now time.Time, name string, v float64) error {
	ref, err := app.Append(w.references[name], w.labels(name), now.UnixMilli(), v)
	w.references[name] = ref
	if err != nil {
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
