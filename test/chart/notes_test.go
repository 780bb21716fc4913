package chart_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// installed are the notes after an installation with a file of values.
func installed(t *testing.T, path string) (notes string) {
	t.Helper()
	out, err := helm(t, "install", "prober", chart, "--namespace", "observability", "--dry-run=client", "--values", path)
	_, notes, ok := strings.Cut(out, "\nNOTES:\n")
	if err != nil || !ok {
		t.Fatalf("%s: no notes, %v", path, err)
	}
	return notes
}

// TestSidecarOfNotes holds that the prober takes the container that the notes
// print: one that it refused would keep the model server's pod from starting.
func TestSidecarOfNotes(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"set":        sets(t)["sidecar"],
		"defaults":   values(t, "sidecar: {enabled: true}"),
		"the border": values(t, "sidecar: {enabled: true}\nsettings: {qps: 0.058}\nobjectives: [{signal: availability, goal: 0.999}]"),
	} {
		notes := installed(t, path)
		_, text, _ := strings.Cut(notes, "spec.initContainers:\n")
		text, _, ok := strings.Cut(text, "In a chart that depends")
		var containers []map[string]any
		if err := yaml.Unmarshal([]byte(text), &containers); err != nil || !ok || len(containers) != 1 {
			t.Errorf("%s: %d containers, %v in\n%s", name, len(containers), err, notes)
			continue
		}
		accepts(t, environment(containers[0]), nil)
	}
}

// TestNotes holds what the notes after an installation say, and what they do not.
func TestNotes(t *testing.T) {
	t.Parallel()
	const (
		label     = `WARNING: monitoring.labels has no "release"`
		unscraped = "Nothing scrapes it yet"
		classic   = "WARNING: monitoring.nativeHistograms is off"
		login     = "Prometheus will get 401"
		address   = "monitoring.tlsConfig is empty. Pods are scraped by their address"
		unseen    = "So with targets, collectors and proxies of extraEnvFrom"
		scaled    = "Where model servers scale to zero"
		shards    = "Another number of shards restarts all of them"
	)
	for _, c := range []struct {
		name, values string
		says         []string
		not          []string
	}{
		{
			"default", vllm,
			[]string{
				"probes 1 target:\n", "vllm  http://vllm:8000  0.1 probes a second, 182,304,000 tokens a day\n", "helm test prober -n observability",
				"kubectl port-forward -n observability service/prober 9464:9464", "There is no limit of CPU, on purpose", unscraped,
				"Helm 3.18 and later print its answer", "kubectl logs -n observability -f prober-check",
			},
			[]string{label, classic, login, shards, "NetworkPolicies"},
		},
		{"no label", vllm + "serviceMonitor: {enabled: true}", []string{label, "--set monitoring.labels.release=kube-prometheus-stack"}, []string{unscraped}},
		{"rules without a label", vllm + "prometheusRule: {enabled: true}", []string{label}, nil},
		{"label", vllm + "podMonitor: {enabled: true}\nmonitoring: {labels: {release: p}}", nil, []string{label, unscraped}},
		{"GMP needs no label", vllm + "podMonitoring: {enabled: true}", nil, []string{label, unscraped}},
		{"classic", vllm + "podMonitor: {enabled: true}\nmonitoring: {nativeHistograms: false}", []string{classic}, nil},
		{
			"classic with alerts", vllm + "podMonitor: {enabled: true}\nprometheusRule: {enabled: true}\nmonitoring: {nativeHistograms: false}",
			[]string{classic, "An alert will say so: --set prometheusRule.disabled.ProberClassicOnly=true"}, nil,
		},
		{"OTLP", vllm + "env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"http://c:4318\"}", nil, []string{unscraped}},
		{"OTLP of the node", vllm + "extraEnv: [{name: OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, value: \"http://$(HOST_IP):4318\"}]", nil, []string{unscraped}},
		{"no test", vllm + "tests: {enabled: false}", []string{"kubectl logs -n observability deployment/prober\n"}, []string{"helm test"}},
		{"no test of shards", vllm + "tests: {enabled: false}\nshards: 2", []string{"kubectl logs -n observability statefulset/prober\n"}, []string{"helm test"}},
		{"a port for root alone", vllm + "service: {port: 80}", []string{"service/prober 9464:80\n     http://localhost:9464\n"}, nil},
		{"a limit of CPU", vllm + "resources: {limits: {cpu: 1}}", []string{"WARNING: resources.limits.cpu is set: throttling"}, []string{"on purpose"}},
		{"two", vllm + "replicas: 2", []string{"In all 364,608,000 tokens a day by 2 probers that all probe all."}, nil},
		{"shards", vllm + "shards: 3", []string{"In all 182,304,000 tokens a day by 3 probers that share the targets.", shards}, nil},
		{"addresses", "targets: [{name: a, url: \"dns+http://a\"}]", []string{"tokens a day for each address"}, nil},
		{
			"sessions", "targets: [{name: a, url: \"http://a\", qps: 1, prompt: sessions, prompt_tokens: 1000, max_tokens: 100, session_rounds: 3}]",
			[]string{"In all 109,209,600 tokens a day."}, nil, // 86400 × (1000 + 2 × 164 / 2 + 100)
		},
		{"budget", "targets: [{name: a, url: \"http://a\", token_budget_per_day: 1000000}]", []string{"In all 1,000,000 tokens a day."}, nil},
		{"ConfigMap", "existingConfigMap: mine", []string{"probes what the ConfigMap mine says", "3. Change targets at any time in the ConfigMap mine."}, []string{"tokens a day"}},
		{"login", vllm + "webConfig: {existingSecret: {name: a}, authentication: true}\nserviceMonitor: {enabled: true}", []string{login, "https://localhost:9464"}, nil},
		{"HTTPS", vllm + "webConfig: {existingSecret: {name: a}}\nserviceMonitor: {enabled: true}", []string{address}, []string{login}},
		{"HTTPS as it should be", vllm + "webConfig: {existingSecret: {name: a}}\nserviceMonitor: {enabled: true}\nmonitoring: {tlsConfig: {serverName: a}}", nil, []string{address}},
		{"a login alone", vllm + "webConfig: {existingSecret: {name: a}, tls: false}\nserviceMonitor: {enabled: true}", nil, []string{address}},
		{"policy", vllm + "networkPolicy: {enabled: true}", []string{"networkPolicy.egress.ports"}, []string{unseen}},
		{"policy that does not see all", vllm + "networkPolicy: {enabled: true}\nextraEnvFrom: [{secretRef: {name: a}}]", []string{unseen}, nil},
		{
			"sidecar", "sidecar: {enabled: true, name: llama-engine, port: 8080}",
			[]string{
				"Nothing was deployed", "value: \"http://127.0.0.1:8080\"\n", "  {{- if .Values.prober.enabled }}\n",
				`{{- include "prober.sidecar" (dict "context" .Subcharts.prober "name" "llama-engine" "port" 8080) | nindent 8 }}`,
				"it best ends in -engine", "scrape port 9464",
			},
			[]string{"helm test", "limit of CPU", scaled},
		},
		{"sidecar with alerts", "sidecar: {enabled: true}\nprometheusRule: {enabled: true}", []string{scaled, "--set prometheusRule.disabled.ProberAbsent=true"}, nil},
		{"sidecar without that alert", "sidecar: {enabled: true}\nprometheusRule: {enabled: true, disabled: {ProberAbsent: true}}", nil, []string{scaled}},
	} {
		notes := installed(t, values(t, c.values))
		for _, sentence := range c.says {
			if !strings.Contains(notes, sentence) {
				t.Errorf("%s: no %q in\n%s", c.name, sentence, notes)
			}
		}
		for _, sentence := range c.not {
			if strings.Contains(notes, sentence) {
				t.Errorf("%s: there is %q in\n%s", c.name, sentence, notes)
			}
		}
	}
}
