package test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A returned is what an expression must return: how many values, all between two
// bounds.
type returned struct {
	values    int
	low, high float64
}

// itlOfEachModel are the differences between client and server in seconds; see joinSeries.
var itlOfEachModel = returned{4, 0.001, 0.004}

// joins are what the expressions of each page of docs/integrations return, in
// their order.
var joins = map[string][]returned{
	"README.md":                  nil,
	"kube-prometheus-stack.md":   {{1, 100, 1000}},
	"opentelemetry-collector.md": {{1, 55, 65}, {1, 55, 65}},
	"vllm.md":                    {itlOfEachModel, {4, 0.1, 0.2}},
	"production-stack.md":        {{1, 0.02, 0.06}, {1, 0.49, 0.51}, {3, 0.9, 2.1}},
	"llm-d.md":                   {{1, 0.02, 0.06}, {1, 55, 65}},
	"kserve.md":                  {{2, 0.001, 0.03}},
	"ray.md":                     {{len(joinTargets), 0.01, 0.03}, {1, 0.49, 0.51}},
}

// TestIntegrationQueriesReturnWhatTheyShould runs every expression of the pages on
// series with the names and labels of both sides.
func TestIntegrationQueriesReturnWhatTheyShould(t *testing.T) {
	t.Parallel()
	var asked []any
	all := pagesOf(t)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		name, ok := strings.CutPrefix(path, "docs/integrations/")
		if !ok {
			continue
		}
		shown := expressions(all[path])
		if len(shown) != len(joins[name]) {
			t.Fatalf("%s shows %d expressions, %d are expected:\n%s", path, len(shown), len(joins[name]), strings.Join(shown, "\n"))
		}
		for i, want := range joins[name] {
			asked = append(asked, asks(fmt.Sprintf("count((\n%s\n) > %v < %v)", shown[i], want.low, want.high), want.values))
		}
	}
	if len(asked) < 10 {
		t.Fatalf("%d expressions found: the test does not see them", len(asked))
	}
	returns(t, joinSeries(), asked)
}

// returns holds that expressions return what [asks] says, of series.
func returns(t *testing.T, of series, asked []any) {
	t.Helper()
	file, err := yaml.Marshal(map[string]any{"tests": []any{map[string]any{"interval": "1m", "input_series": of, "promql_expr_test": asked}}})
	must(t, err)
	path := filepath.Join(t.TempDir(), "test.yaml")
	write(t, path, string(file))
	if said, ok := promtool(t, "", "test", "rules", path); !ok {
		t.Error(said)
	}
}

// asks is a test of promtool that an expression has one value after two hours.
func asks(expr string, value any) any {
	return map[string]any{"expr": expr, "eval_time": "2h", "exp_samples": []any{map[string]any{"labels": "{}", "value": value}}}
}

// series are input series of promtool.
type series []any

func (all *series) add(name, values string) {
	*all = append(*all, map[string]any{"series": name, "values": values})
}

// native adds a native histogram whose samples, six a minute, are all in one bucket of schema 4.
func (all *series) native(name, labels string, bucket int) {
	grown := fmt.Sprintf("{{schema:4 count:6 sum:6 offset:%d buckets:[6]}}", bucket)
	all.add(name+"{"+labels+"}", grown+"+"+grown+"x120")
}

// classic adds a classic histogram whose samples, six a minute, are all between two bounds.
func (all *series) classic(name, labels string, below, above float64) {
	for bound, values := range map[string]string{fmt.Sprint(below): "0x120", fmt.Sprint(above): "0+6x120", "+Inf": "0+6x120"} {
		all.add(fmt.Sprintf("%s_bucket{%s,le=%q}", name, labels, bound), values)
	}
}

// A joinTarget is a target of the pages, and how slow it is.
type joinTarget struct {
	name, model string
	ttft, itl   int // indexes of the buckets that all samples are in
}

// The buckets: up to 0.5 and 0.55 s, up to 20 ms and twice as much.
const (
	halfASecond, aTenthMore        = -16, -14
	twentyMilliseconds, twiceAsBig = -90, -74
)

// joinTargets are those that the expressions name, with a model to each page.
var joinTargets = []joinTarget{
	{"llama-70b", "llama", halfASecond, twentyMilliseconds},
	{"router", "stack", aTenthMore, twentyMilliseconds},
	{"engine/10.0.0.1", "stack", halfASecond, twentyMilliseconds},
	{"engine/10.0.0.2", "stack", halfASecond, twiceAsBig},
	{"engine/10.0.0.4", "stack", halfASecond, twentyMilliseconds},
	{"gateway", "llm-d", aTenthMore, twentyMilliseconds},
	{"pod/10.0.0.3", "llm-d", halfASecond, twentyMilliseconds},
	{"my-model-v1", "kserve", halfASecond, twentyMilliseconds},
	{"my-model-v2", "kserve", halfASecond, twiceAsBig},
	{"my-model", "kserve", halfASecond, twentyMilliseconds},
	{"qwen", "ray", halfASecond, twentyMilliseconds},
}

// joinSeries are the prober's series and the servers': every minute six probes, and
// as many requests, whose medians are 0.375 s and 17.5 ms at the server.
func joinSeries() (all series) {
	for _, to := range joinTargets {
		labels := fmt.Sprintf("job=%q,instance=%q,target=%q,model=%q,prompt=%q", "prober", "a:9464", to.name, to.model, "cold")
		all.native("llm_probe_ttft_seconds", labels, to.ttft)
		all.native("llm_probe_server_ttft_seconds", labels, to.ttft)
		all.native("llm_probe_itl_seconds", labels, to.itl)
		all.native("llm_probe_tpot_seconds", labels, twentyMilliseconds)
	}
	all.native("llm_prober_schedule_delay_seconds", `job="prober",instance="a:9464"`, twentyMilliseconds)
	for series, values := range map[string]string{
		`llm_prober_export_failures_total{job="prober",instance="a:9464"}`:                                         "0+1x120",
		`llm_probe_probes_total{job="prober",instance="a:9464",target="gateway",outcome="ok"}`:                     "0+5x120",
		`llm_probe_probes_total{job="prober",instance="a:9464",target="gateway",outcome="rate_limited"}`:           "0+1x120",
		`target_info{job="prober",instance="a:9464",k8s_cluster_name="eu-1"}`:                                      "1x120",
		`llm_probe_tokens_total{job="prober",instance="a:9464",target="router-sessions",kind="prompt"}`:            "0+20x120",
		`llm_probe_tokens_total{job="prober",instance="a:9464",target="router-sessions",kind="cached"}`:            "0+10x120",
		`llm_probe_frames_total{job="prober",instance="a:9464",target="qwen",model="ray",prompt="cold"}`:           "0+20x120",
		`llm_probe_coalesced_frames_total{job="prober",instance="a:9464",target="qwen",model="ray",prompt="cold"}`: "0+10x120",
	} {
		all.add(series, values)
	}
	for _, server := range []string{`model_name="llama"`, `model_name="stack"`, `model_name="llm-d"`, `model_name="kserve",llm_isvc_name="my-model-v1"`, `model_name="kserve",llm_isvc_name="my-model-v2"`} {
		labels := `job="vllm",instance="b:8000",engine="0",` + server
		all.classic("vllm:time_to_first_token_seconds", labels, 0.25, 0.5)
		all.classic("vllm:inter_token_latency_seconds", labels, 0.01, 0.025)
	}
	return all
}
