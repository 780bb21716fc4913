package test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestSidesHaveTheirOwnServers runs the queries that compare client and server, of
// two stacks that serve one model. The server of A takes 0.1 to 0.2 s for
// everything, that of B 0.4 to 0.8 s: each side must be told of its own, and not of
// both together.
func TestSidesHaveTheirOwnServers(t *testing.T) {
	t.Parallel()
	values := everything("30m", "1h")
	values["server_a"], values["server_b"] = "stack-a", "stack-b"
	var asked []any
	for _, q := range dashboardQueries(t) {
		if q.dashboard != "compare" || !strings.Contains(q.expr, "vllm:") && !strings.Contains(q.expr, "sglang:") || q.panel == "variable" {
			continue
		}
		// Halfway up the only bucket; of p95 nearly at its top.
		median := map[bool]float64{true: 0.15, false: 0.6}
		a := strings.Contains(q.expr, `"$server_a"`)
		if a == strings.Contains(q.expr, `"$server_b"`) {
			t.Errorf("%s is of neither side, or of both:\n%s", q, q.expr)
			continue
		}
		want := median[a]
		switch {
		case strings.Contains(q.expr, "histogram_quantile(0.95"):
			want = map[bool]float64{true: 0.195, false: 0.78}[a]
		case q.panel == "TTFT p50: client − server":
			want = 1.5 - want
		}
		asked = append(asked, map[string]any{
			"expr":        fmt.Sprintf("round(max((\n%s\n)), 0.005)", fill(q.expr, values)),
			"eval_time":   "2h",
			"exp_samples": []any{map[string]any{"labels": "{}", "value": want}},
		})
	}
	if len(asked) != 26 {
		t.Fatalf("%d queries of servers: the test does not see them", len(asked))
	}
	file, err := yaml.Marshal(map[string]any{"tests": []any{map[string]any{
		"interval": "1m", "input_series": sidesSeries(), "promql_expr_test": asked,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sides.yaml")
	write(t, path, string(file))
	if said, ok := promtool(t, "test", "rules", path); !ok {
		t.Error(said)
	}
}

// sidesSeries are two targets of one model, with 1 to 2 s until the first token, and
// the histograms of a server each.
func sidesSeries() (all []any) {
	add := func(series, values string) { all = append(all, map[string]any{"series": series, "values": values}) }
	classic := func(name, labels string, below, above float64) {
		for bound, values := range map[string]string{fmt.Sprint(below): "0x120", fmt.Sprint(above): "0+6x120", "+Inf": "0+6x120"} {
			add(fmt.Sprintf("%s_bucket{%s,le=%q}", name, labels, bound), values)
		}
	}
	for _, target := range []string{"a", "b"} {
		labels := fmt.Sprintf(`job="prober",instance="p:9464",target=%q,model="llama",prompt="cold"`, target)
		add("llm_probe_target_info{"+labels+"}", "1x120")
		add("llm_probe_probes_total{"+labels+`,outcome="ok"}`, "0+6x120")
		classic("llm_probe_server_ttft_seconds", labels, 1, 2)
	}
	for name, f := range foreign() {
		if f.kind == "histogram" {
			classic(name, `job="stack-a",instance="a:8000",model_name="llama"`, 0.1, 0.2)
			classic(name, `job="stack-b",instance="b:8000",model_name="llama"`, 0.4, 0.8)
		}
	}
	return all
}
