package test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// A told is what the report verb says in JSON of one target.
type told struct {
	Target    string         `json:"target"`
	Succeeded int            `json:"succeeded_requests"`
	Failed    int            `json:"failed_requests"`
	Outcomes  map[string]int `json:"outcomes"`
	Input     int            `json:"input_tokens"`
	Output    int            `json:"output_tokens"`
	TTFT      spread         `json:"ttft_seconds"`
	TPOT      spread         `json:"tpot_seconds"`
	ITL       spread         `json:"itl_seconds"`
	E2EL      spread         `json:"e2el_seconds"`
	Warnings  []string       `json:"warnings"`
}

type spread struct {
	Count     int
	Mean      float64
	Quantiles []struct{ Share, Value, Low, High float64 }
}

// of is what is told of a histogram.
func (s told) of(name string) spread {
	return map[string]spread{"ttft": s.TTFT, "tpot": s.TPOT, "itl": s.ITL, "e2el": s.E2EL}[name]
}

// reported runs the report verb, and returns what it says by target.
func reported(t *testing.T, p prometheus, span [2]time.Time, flags ...string) map[string]told {
	t.Helper()
	all := map[string]told{}
	for _, s := range summaries(t, start(t, nil, append([]string{
		"report", "--prometheus", p.url, "--format", "json",
		"--from", span[0].UTC().Format(time.RFC3339), "--to", span[1].UTC().Format(time.RFC3339),
	}, flags...)...)) {
		all[s.Target] = s
	}
	return all
}

// summaries are those of the JSON that a prober writes.
func summaries(t *testing.T, p *process) []told {
	t.Helper()
	text := p.said(t)
	var document struct{ Summaries []told }
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return document.Summaries
}

// said waits for the end of a process, which must be a good one, and returns what
// it wrote.
func (p *process) said(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for line := range p.lines {
		text.WriteString(line + "\n")
	}
	if err := <-p.exited; err != nil {
		t.Fatalf("%s: %v", strings.Join(p.cmd.Args, " "), err)
	}
	return text.String()
}

// TestReport holds that the report verb reads two lives of a prober in each form: scraped natively
// and as by default, and sent by OTLP. Counts are
// only near: increase() extrapolates, and of a range of seconds that is much.
func TestReport(t *testing.T) {
	t.Parallel()
	simulator := start(t, nil, "simulate", "--profile", "fast,production-stack", "--listen", "127.0.0.1:0")
	servers := []string{simulator.after(t, "fast"), simulator.after(t, "production-stack")}
	address := freeAddress(t)
	p, sent := startPrometheus(t, scrapeAllWays(t, "http://"+address), nil), startPrometheus(t, "", nil, "--web.enable-otlp-receiver")
	eventually(t, "scrapes", func() bool { return len(p.query(t, "up == 0")) == 3 })
	span := [2]time.Time{time.Now().Add(-time.Second)}
	want := truth{samples: map[string]map[string][]float64{}, traces: map[string]bool{}}
	for _, probes := range []int{15, 16} {
		want.live(t, p, sent, address, servers, probes)
	}
	span[1] = time.Now().Add(2 * time.Second)

	for _, job := range []string{"prober", "by-default", "both"} {
		want.told(t, job, reported(t, p, span, "--match", "job="+job), job == "by-default")
	}
	want.told(t, "OTLP", reported(t, sent, span), false)
	twice := reported(t, p, span, "--target", host(t, servers[0]))[host(t, servers[0])]
	if !strings.Contains(strings.Join(twice.Warnings, "\n"), "counts are the sum of 3 sources") {
		t.Errorf("by all three ways: %+v", twice)
	}
	text := start(t, nil, "report", "--prometheus", p.url, "--from", "1h", "--match", "job=prober",
		"--target", host(t, servers[0]), "--vs", host(t, servers[1])).said(t)
	for _, words := range []string{"Successful requests:  ", "too little data to compare"} {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, text)
		}
	}
}

// told holds what is told of all targets, from whatever buckets, against the truth.
func (w truth) told(t *testing.T, path string, all map[string]told, classic bool) {
	t.Helper()
	if len(all) != len(w.samples) {
		t.Errorf("%s: %d targets", path, len(all))
	}
	for target, samples := range w.samples {
		s := all[target]
		if s.Succeeded == 0 || s.Failed != 0 || s.Outcomes["ok"] != s.Succeeded || s.Input == 0 || s.Output == 0 {
			t.Errorf("%s: %+v", path, s)
		}
		s.Warnings = slices.DeleteFunc(s.Warnings, func(text string) bool {
			// By OTLP each life is an instance, and so short a range does not tell whether they were one after the other.
			return path == "OTLP" && strings.Contains(text, "counts are the sum of 2 sources")
		})
		said := strings.Contains(strings.Join(s.Warnings, "\n"), "TTFT, TPOT, ITL, E2EL from classic buckets")
		if said != classic || len(s.Warnings) > 1 || len(s.Warnings) > 0 && !classic {
			t.Errorf("%s: warnings %q", path, s.Warnings)
		}
		for _, name := range histograms {
			slices.Sort(samples[name])
			s.of(name).holds(t, fmt.Sprintf("%s, %s of %s", path, name, target), samples[name], classic)
		}
	}
}

// live lets a prober make so many probes of each server, waits until Prometheus
// has the last of them by all paths, and adds them to the truth.
func (w truth) live(t *testing.T, p, sent prometheus, address string, servers []string, probes int) {
	t.Helper()
	before := len(w.traces)
	environ := []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + sent.url + "/api/v1/otlp/v1/metrics", "OTEL_METRIC_EXPORT_INTERVAL=200"}
	prober := start(t, environ, append([]string{
		"run", "--listen-address", address, "--log-format", "json",
		"--qps", "4", "--prompt-tokens", "100", "--max-tokens", "20", "--token-budget-per-day", fmt.Sprint(120 * probes),
	}, servers...)...)
	base := prober.listening(t)
	eventually(t, "all probes", func() bool { return len(results(t, base)) == probes*len(servers) })
	for _, job := range []string{"prober", "by-default", "both"} {
		eventually(t, "the last of them in "+job, func() bool {
			stored := p.query(t, fmt.Sprintf(`sum(llm_probe_probes_total{job=%q})`, job))
			return len(stored) == 1 && float64(stored[0].Value) == float64(probes*len(servers))
		})
	}
	eventually(t, "the last of them by OTLP", func() bool {
		stored := sent.query(t, `sum(max_over_time(llm_probe_probes_total{outcome="ok"}[5m]))`) // each life is an instance of its own
		return len(stored) == 1 && int(stored[0].Value) == before+probes*len(servers)
	})
	body, _ := get(t, base+"api/v1/results?limit=1000&format=jsonl", "")
	for line := range strings.Lines(body) {
		w.add(t, line)
	}
	if code := prober.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// holds holds that the mean and each quantile lie where the samples do, and in buckets of the form.
func (s spread) holds(t *testing.T, what string, samples []float64, classic bool) {
	t.Helper()
	least, most := samples[0], samples[len(samples)-1]
	if strings.HasPrefix(what, "OTLP") && least <= 0x1p-13 {
		least = 0 // as it is sent
	}
	if s.Count == 0 || s.Mean < least || s.Mean > most || len(s.Quantiles) != 5 {
		t.Errorf("%s: %+v, want samples from %v to %v", what, s, least, most)
		return
	}
	for _, q := range s.Quantiles {
		const ns = 1e-9 // what is told is rounded to it
		narrow := q.High <= q.Low*math.Exp2(1.0/16)+2*ns || q.Low == 0 && q.High <= 0x1p-13+ns
		if q.High < least-ns || q.Low > most+ns || q.Value < q.Low-ns || q.Value > q.High+ns || narrow == classic {
			t.Errorf("%s: quantile %v is %v in %v to %v, of samples from %v to %v", what, q.Share, q.Value, q.Low, q.High, least, most)
		}
	}
}
