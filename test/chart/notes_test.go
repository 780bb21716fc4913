package chart_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestNotes holds what the notes after an installation say, and what they do not, and that the prober takes the
// container that they print: one that it refused would keep the model server's pod from starting.
func TestNotes(t *testing.T) {
	t.Parallel()
	const (
		label   = `WARNING: monitoring.labels has no "release"`
		unread  = "Nothing scrapes it yet"
		classic = "WARNING: monitoring.nativeHistograms is off"
		login   = "Prometheus will get 401"
		address = "monitoring.tlsConfig is empty. Pods are scraped by their address"
		unseen  = "So with targets, collectors and proxies of extraEnvFrom"
		scaled  = "Where model servers scale to zero"
		shards  = "Changing the number of shards restarts all of them"
	)
	for _, c := range []struct {
		name, values string
		says         []string
		not          []string
	}{
		{
			"default", vllm,
			[]string{
				"probes 1 target:\n", "vllm  http://vllm:8000  0.1 probes per second, 182,304,000 tokens per day\n", "helm test prober -n observability",
				"kubectl port-forward -n observability service/prober 9464:9464", "There is no CPU limit, on purpose", unread,
				"Helm 3.18 and later print the result", "kubectl logs -n observability -f prober-check",
			},
			[]string{label, classic, login, shards, "NetworkPolicies"},
		},
		{"no label", vllm + "serviceMonitor: {enabled: true}", []string{label, "--set monitoring.labels.release=kube-prometheus-stack"}, []string{unread}},
		{
			"as it should be", vllm + "podMonitor: {enabled: true}\nwebConfig: {existingSecret: {name: a}}\nnetworkPolicy: {enabled: true}\n" +
				"monitoring: {labels: {release: p}, tlsConfig: {serverName: a}}",
			[]string{"networkPolicy.egress.ports"}, []string{label, unread, address, unseen},
		},
		{"GMP needs no label", vllm + "podMonitoring: {enabled: true}", nil, []string{label, unread}},
		{
			"classic with alerts", vllm + "podMonitor: {enabled: true}\nprometheusRule: {enabled: true}\nmonitoring: {nativeHistograms: false}",
			[]string{classic, "An alert will say so: --set prometheusRule.disabled.ProberClassicOnly=true"}, nil,
		},
		{"OTLP", vllm + "env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"http://c:4318\"}", nil, []string{unread}},
		{"OTLP of the node", vllm + "extraEnv: [{name: OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, value: \"http://$(HOST_IP):4318\"}]", nil, []string{unread}},
		{
			"a port for root alone", vllm + "service: {port: 80}\ntests: {enabled: false}",
			[]string{"service/prober 9464:80\n     http://localhost:9464\n", "kubectl logs -n observability deployment/prober\n"}, nil,
		},
		{
			"a limit of CPU", vllm + "resources: {limits: {cpu: 1}}\nreplicas: 2",
			[]string{"WARNING: resources.limits.cpu is set: throttling", "Total: 364,608,000 tokens per day by 2 probers that each probe all targets."},
			[]string{"on purpose"},
		},
		{
			"shards", vllm + "shards: 3\ntests: {enabled: false}",
			[]string{"Total: 182,304,000 tokens per day by 3 probers that share the targets.", shards, "kubectl logs -n observability statefulset/prober\n"},
			[]string{"helm test"},
		},
		{
			"costs", "targets: [{name: a, url: \"dns+http://a\"}, {name: b, url: \"http://b\", token_budget_per_day: 1000000},\n" +
				"{name: c, url: \"http://c\", qps: 1, prompt: sessions, prompt_tokens: 1000, max_tokens: 100, session_rounds: 3}]",
			[]string{
				" 182,304,000 tokens per day for each address\n", " 1,000,000 tokens per day\n",
				" 109,209,600 tokens per day\n", // 86400 × (1000 + 2 × 164 / 2 + 100)
				"Total: 292,513,600 tokens per day.",
			}, nil,
		},
		{"ConfigMap", "existingConfigMap: mine", []string{"probes what the ConfigMap mine says", "3. Change targets at any time in the ConfigMap mine."}, []string{"tokens per day"}},
		{"login", vllm + "webConfig: {existingSecret: {name: a}, authentication: true}\nserviceMonitor: {enabled: true}", []string{login, "https://localhost:9464"}, nil},
		{"HTTPS", vllm + "webConfig: {existingSecret: {name: a}}\nserviceMonitor: {enabled: true}", []string{address}, []string{login}},
		{"a login alone", vllm + "webConfig: {existingSecret: {name: a}, tls: false}\nserviceMonitor: {enabled: true}", nil, []string{address}},
		{"policy that does not see all", vllm + "networkPolicy: {enabled: true}\nextraEnvFrom: [{secretRef: {name: a}}]", []string{unseen}, nil},
		{
			"sidecar", "sidecar: {enabled: true, name: llama-engine, port: 8080}",
			[]string{
				"Nothing was deployed", "spec.initContainers:\n", "value: \"http://127.0.0.1:8080\"\n", "  {{- if .Values.prober.enabled }}\n",
				`{{- include "prober.sidecar" (dict "context" .Subcharts.prober "name" "llama-engine" "port" 8080) | nindent 8 }}`,
				"let it end in -engine", "scrape port 9464",
			},
			[]string{"helm test", "CPU limit", scaled},
		},
		{"sidecar at the border", "sidecar: {enabled: true}\nsettings: {qps: 0.058}\nobjectives: [{signal: availability, goal: 0.999}]", nil, nil},
		{"sidecar with alerts", "sidecar: {enabled: true}\nprometheusRule: {enabled: true}", []string{scaled, "--set prometheusRule.disabled.ProberAbsent=true"}, nil},
	} {
		out, err := helm(t, "install", "prober", chart, "--namespace", "observability", "--dry-run=client", "--values", values(t, c.values))
		_, notes, ok := strings.Cut(out, "\nNOTES:\n")
		if err != nil || !ok {
			t.Fatalf("%s: no notes, %v", c.name, err)
		}
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
		_, text, ok := strings.Cut(notes, "spec.initContainers:\n")
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, "In a chart that depends")
		var containers []map[string]any
		if err := yaml.Unmarshal([]byte(text), &containers); err != nil || len(containers) != 1 {
			t.Fatalf("%s: %d containers, %v in\n%s", c.name, len(containers), err, notes)
		}
		accepts(t, environment(containers[0]), nil)
	}
}
