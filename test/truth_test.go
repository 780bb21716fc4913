package test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// A truth is what a prober itself says once it does nothing any more.
type truth struct {
	samples map[string]map[string][]float64 // by target and histogram, ascending
	traces  map[string]bool                 // the ids of all probes
	native  map[string]*dto.MetricFamily
	text    map[string]*dto.MetricFamily
}

// truthOf waits until the budgets of all targets are spent and every probe under
// way has ended.
func truthOf(t *testing.T, base string, targets []string) truth {
	t.Helper()
	var text string
	eventually(t, "all budgets spent", func() bool {
		text, _ = get(t, base+"metrics", "text/plain")
		return spent(text) == len(targets) && len(results(t, base)) == 15*len(targets)
	})
	text, _ = get(t, base+"metrics", "text/plain")
	binary, response := get(t, base+"metrics", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	want := truth{
		samples: map[string]map[string][]float64{}, traces: map[string]bool{},
		native: families(t, binary, expfmt.ResponseFormat(response.Header)),
		text:   families(t, text, expfmt.NewFormat(expfmt.TypeTextPlain)),
	}
	body, _ := get(t, base+"api/v1/results?limit=1000&format=jsonl", "")
	for line := range strings.Lines(body) {
		want.add(t, line)
	}
	for _, target := range targets {
		for _, name := range histograms {
			slices.Sort(want.samples[target][name])
		}
	}
	return want
}

// add adds one result in JSON.
func (w truth) add(t *testing.T, line string) {
	t.Helper()
	var r struct {
		Target  string    `json:"target"`
		Outcome string    `json:"outcome"`
		TTFT    float64   `json:"ttft_seconds"`
		TPOT    float64   `json:"tpot_seconds"`
		E2EL    float64   `json:"e2el_seconds"`
		ITL     []float64 `json:"itl_seconds"`
		Trace   string    `json:"trace_id"`
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Outcome != "ok" {
		t.Fatalf("%v: %s", err, line)
	}
	if w.samples[r.Target] == nil {
		w.samples[r.Target] = map[string][]float64{}
	}
	of := w.samples[r.Target]
	of["ttft"], of["tpot"], of["e2el"] = append(of["ttft"], r.TTFT), append(of["tpot"], r.TPOT), append(of["e2el"], r.E2EL)
	of["itl"] = append(of["itl"], r.ITL...)
	w.traces[r.Trace] = true
}
