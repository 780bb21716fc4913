package test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/test/program"
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
	Budgets   []struct {
		Objective string
		Good      int `json:"good_requests"`
		Judged    int `json:"judged_requests"`
		Due       int `json:"due_requests"`
		Left      int `json:"budget_left"`
	}
}

type spread struct {
	Count     int
	Quantiles []struct{ Share, Value, Low, High float64 }
}

// spreads returns those of the histograms, by name.
func (s told) spreads() map[string]spread {
	return map[string]spread{"ttft": s.TTFT, "tpot": s.TPOT, "itl": s.ITL, "e2el": s.E2EL}
}

// reported runs the report verb, and returns what it says by target.
func reported(t *testing.T, p prometheus, from time.Time, flags ...string) map[string]told {
	t.Helper()
	return summaries(t, program.Prober(t, nil, append([]string{
		"report", "--prometheus", p.url, "--format", "json",
		"--from", from.Add(-time.Second).UTC().Format(time.RFC3339), "--to", time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339),
	}, flags...)...))
}

// summaries returns those of the JSON that a prober writes, by target.
func summaries(t *testing.T, p *program.Process) map[string]told {
	t.Helper()
	text, code := p.Output(t)
	var document struct{ Summaries []told }
	if err := json.Unmarshal([]byte(text), &document); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v in %s", code, err, text)
	}
	all := map[string]told{}
	for _, s := range document.Summaries {
		all[s.Target] = s
	}
	return all
}

// reportsAgree holds that the report verb reads each form: scraped natively, as by default and both, and sent by OTLP.
// Counts are only near: increase() extrapolates, and of a range of seconds that is much.
func reportsAgree(t *testing.T, want truth, scraped, otlp prometheus, from time.Time) {
	t.Helper()
	for _, job := range []string{"prober", "by-default", "both"} {
		want.told(t, job, reported(t, scraped, from, "--match", "job="+job))
	}
	want.told(t, "OTLP", reported(t, otlp, from))
	var targets []string
	for target, twice := range reported(t, scraped, from) {
		targets = append(targets, target)
		if !strings.Contains(strings.Join(twice.Warnings, "\n"), "jobs or instances report this target") {
			t.Errorf("%s on all paths at once: warnings %q", target, twice.Warnings)
		}
	}
	text, code := program.Prober(t, nil, "report", "--prometheus", scraped.url, "--from", "1h", "--match", "job=prober",
		"--target", targets[0], "--vs", targets[1]).Output(t)
	if code != 0 || !strings.Contains(text, "Successful requests:  ") || !strings.Contains(text, "too little data to compare") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// told holds that all targets are told of, and quantiles lie where the samples do, in buckets of the form.
func (w truth) told(t *testing.T, path string, all map[string]told) {
	t.Helper()
	classic := path == "by-default"
	for target, samples := range w.samples {
		s := all[target]
		if len(all) != len(w.samples) || s.Succeeded == 0 || s.Failed != 0 || s.Outcomes["ok"] != s.Succeeded || s.Input == 0 || s.Output == 0 {
			t.Errorf("%s: %+v", path, all)
		}
		if len(s.Warnings) > 0 {
			t.Errorf("%s: warnings %q", path, s.Warnings)
		}
		if b := s.Budgets; len(b) != 1 || b[0].Objective != "availability@99%" || b[0].Judged == 0 || b[0].Good != b[0].Judged || b[0].Due != 30*24*b[0].Judged || b[0].Left != 1 {
			t.Errorf("%s: budgets %+v", path, b)
		}
		for name, spread := range s.spreads() {
			if len(spread.Quantiles) != 5 {
				t.Errorf("%s, %s of %s: %+v", path, name, target, spread)
			}
			for _, q := range spread.Quantiles {
				const ns = 1e-9 // what is told is rounded to it
				least, most := slices.Min(samples[name]), slices.Max(samples[name])
				narrow := q.High <= q.Low*math.Exp2(1.0/16)+2*ns || q.Low == 0 && q.High <= 0x1p-13+ns
				if q.High < least-ns && q.High > 0x1p-13+ns || q.Low > most+ns || q.Value < q.Low-ns || q.Value > q.High+ns || narrow == classic {
					t.Errorf("%s: %s of %s: quantile %+v, of samples from %v to %v", path, name, target, q, least, most)
				}
			}
		}
	}
}

// TestBenchAndReport checks that the report verb finds in Prometheus what a bench sent there by OTLP.
func TestBenchAndReport(t *testing.T) {
	t.Parallel()
	servers, p, from := program.Simulate(t, "production-stack,ray-serve"), startPrometheus(t, ""), time.Now()
	measured := summaries(t, program.Prober(t, p.otlp(500), // increase() is between samples
		"bench", "a="+servers[0], "b="+servers[1], "--qps", "1", "--requests", "21", "--prompt-tokens", "2000", "--max-tokens", "50", "--format", "json"))
	stored := reported(t, p, from)
	for _, target := range []string{"a", "b"} {
		got, want := stored[target], measured[target]
		if got.Succeeded == 0 || want.Succeeded == 0 || got.Failed != want.Failed {
			t.Errorf("%s: stored %+v, measured %+v", target, got, want)
		}
		for name, spread := range got.spreads() {
			if len(spread.Quantiles) != 5 || len(want.spreads()[name].Quantiles) != 5 {
				t.Errorf("%s of %s: stored %+v, measured %+v", name, target, spread, want.spreads()[name])
			}
		}
	}
}
