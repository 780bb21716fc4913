package chart_test

import (
	"fmt"
	"strings"
	"testing"
)

// vllm is a target that is as it should be.
const vllm = "targets: [{name: vllm, url: \"http://vllm:8000\"}]\n"

// TestChartRefuses holds what the chart says about values that are each right and
// impossible together: all at once, and no secret of them; and which it takes.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ values, want string }{
		{"", "no targets: set targets, for example --set targets[0].name=vllm --set targets[0].url=http://vllm:8000, or existingConfigMap."},
		{vllm + "existingConfigMap: mine", "existingConfigMap with targets, objectives or settings: they belong into that ConfigMap."},
		{vllm + "shards: 2\nreplicas: 2", "shards 2 with replicas 2: shards share the targets, replicas all probe all of them. Choose one"},
		{"sidecar: {enabled: true}\nreplicas: 2", "sidecar.enabled with replicas 2: a sidecar has as many replicas as the model server it is in. Leave replicas at 1."},
		{"sidecar: {enabled: true}\nshards: 2", "sidecar.enabled with shards 2: a sidecar probes only the server of its own pod."},
		{vllm + "sidecar: {enabled: true}", "sidecar.enabled with targets: a sidecar probes the server of its own pod and mounts no file."},
		{"sidecar: {enabled: true}\npodMonitor: {enabled: true}", "needs sidecar.selector: the labels of the pods that have the sidecar."},
		{"sidecar: {enabled: true}\nserviceMonitor: {enabled: true}", "a sidecar has no Service. Enable podMonitor instead."},
		{"sidecar: {enabled: true}\nsettings: {apiKey: {existingSecret: {name: a}}}", "settings.apiKey with sidecar.enabled: a sidecar mounts nothing. Set PROBER_API_KEY in extraEnv with a secretKeyRef."},
		{vllm + "serviceMonitor: {enabled: true}\npodMonitor: {enabled: true}", "serviceMonitor and podMonitor are both enabled: each prober would be scraped twice"},
		{vllm + "settings: {api_key: k}", "settings.api_key is a secret in plain values"},
		{"targets: [{url: \"http://a\", headers: {Authorization: k}}]", "targets[0].headers.Authorization is a secret in plain values: use targets[0].apiKey.existingSecret"},
		{"targets: [{url: \"http://a\", api_key_file: /a, apiKey: {existingSecret: {name: b}}}]", "targets[0] has apiKey and api_key_file: set only one of them."},
		{"targets: [{url: \"https://a\", ca: {existingSecret: {name: b}, existingConfigMap: {name: c}}}]", "targets[0].ca has existingSecret and existingConfigMap: set only one of them."},
		{vllm + "env: {PROBER_API_KEY: k}", "env.PROBER_API_KEY is a secret in plain values: put it into a Secret and give it in extraEnv, with a secretKeyRef."},
		{vllm + "env: {OTEL_EXPORTER_OTLP_HEADERS: k}", "env.OTEL_EXPORTER_OTLP_HEADERS is a secret in plain values"},
		{vllm + "env: {PROBER_LISTEN_ADDRESS: \":1\"}", "env.PROBER_LISTEN_ADDRESS is set by the chart: use containerPort."},
		{vllm + "env: {PROBER_TARGETS_FILE: /a}", "env.PROBER_TARGETS_FILE is set by the chart: use targets or existingConfigMap."},
		{"existingConfigMap: mine\nmaxTokensPerDay: 1000", "maxTokensPerDay with targets that the chart does not see (of existingConfigMap, extraEnvFrom, extraEnv with a valueFrom, or PROBER_TARGETS_FILE): they would not be counted. Leave it at none, and give targets a token_budget_per_day."},
		{vllm + "extraEnvFrom: [{secretRef: {name: a}}]\nmaxTokensPerDay: 1000000000", "maxTokensPerDay with targets that the chart does not see"},
		{vllm + "extraEnv: [{name: PROBER_TARGETS_0_URL, valueFrom: {secretKeyRef: {name: a, key: b}}}]\nmaxTokensPerDay: 1000000000", "maxTokensPerDay with targets that the chart does not see"},
		{"sidecar: {enabled: true}\nmaxTokensPerDay: 1000", "maxTokensPerDay with sidecar.enabled: the chart does not know how many pods have the sidecar. Leave it at none, and set settings.token_budget_per_day, which is for each pod."},
		{"targets: [{name: a, url: \"dns+http://a\"}]\nmaxTokensPerDay: 1000000000", `maxTokensPerDay with dns+ of target "a": the chart does not know how many addresses there are, and each costs the same again. Leave it at none, and give the target a token_budget_per_day, which is for each address.`},
		{vllm + "extraEnv: [{name: PROBER_WEB_CONFIG_FILE, value: /a}]", "extraEnv has PROBER_WEB_CONFIG_FILE, which is set by the chart: use webConfig.existingSecret."},
		{vllm + "shards: 2\nextraEnv: [{name: PROBER_SHARD, value: 0/2}]", "extraEnv has PROBER_SHARD, which is set by the chart: use shards."},
		{vllm + "commonLabels: {app.kubernetes.io/version: x}", "commonLabels has app.kubernetes.io/version, which the chart sets itself: leave it out; nameOverride changes the name."},
		{vllm + "podLabels: {app.kubernetes.io/instance: x}", "podLabels has app.kubernetes.io/instance, which the chart sets"},
		{vllm + "service: {labels: {app.kubernetes.io/component: x}}", "service.labels has app.kubernetes.io/component, which the chart sets"},
		{vllm + "shards: 2\nstrategy: {type: RollingUpdate}", "strategy with shards 2: strategy is for a Deployment, but shards are a StatefulSet, which replaces its pods one after another. Leave strategy out."},
		{"targets: [{name: a, url: \"http://user:hunter2@a:8000\"}]", "targets[0].url has credentials, a query, a fragment or no number as its port, in plain values: put a key into a Secret and set targets[0].apiKey.existingSecret."},
		{"targets: [{name: a, url: \"https://a/v1?key=hunter2\"}]", "targets[0].url has credentials, a query, a fragment or no number as its port, in plain values: put a key into a Secret and set targets[0].apiKey.existingSecret."},
		{"targets: [{name: a, url: \"http://user:hunter2%zz@a:8000\"}]", "targets[0].url has credentials"},
		{"targets: [{name: a, url: \"http://user:hunter2/@a:8000\"}]", "targets[0].url has credentials"},
		{"targets: [{name: a, url: \"https://a/v1#hunter2\"}]", "targets[0].url has credentials"},
		{"env: {PROBER_TARGETS_0_URL: \"http://user:hunter2@a:8000\"}", "PROBER_TARGETS_0_URL has credentials, a query, a fragment or no number as its port, in plain values: put a key into a Secret and set PROBER_TARGETS_0_API_KEY in extraEnv, with a secretKeyRef."},
		{"targets: [{url: \"http://a\", api_key_file: /etc/prober/credentials/foo}]", "targets[0].api_key_file is in /etc/prober/credentials, where the chart mounts its own: name the Secret in apiKey, ca or clientCertificate, or mount the file elsewhere by extraVolumes and extraVolumeMounts."},
		{vllm + "networkPolicy: {enabled: true}\nextraEnv: [{name: HTTPS_PROXY, valueFrom: {secretKeyRef: {name: a, key: b}}}]", "networkPolicy.enabled with HTTPS_PROXY in extraEnv, without a plain value: the policy cannot open its port. Give it a value, or set networkPolicy.egress.extra."},
		{"sidecar: {enabled: true}\nnetworkPolicy: {enabled: true}", "networkPolicy.enabled with sidecar.enabled: the pods are those of model servers, and so are their policies."},
		{vllm + "serviceMonitor: {enabled: true}\nmonitoring: {interval: 5s}", "monitoring.scrapeTimeout 10s is longer than monitoring.interval 5s, and nothing would be scraped"},
		{vllm + "podMonitoring: {enabled: true}\nmonitoring: {interval: 1m, scrapeTimeout: 60s1ms}", "monitoring.scrapeTimeout 60s1ms is longer than monitoring.interval 1m"},
		{vllm + "podMonitoring: {enabled: true}\nwebConfig: {existingSecret: {name: a}, authentication: true}", "podMonitoring.enabled with webConfig.authentication: the PodMonitoring has no password and no certificate."},
		{vllm + "prometheusRule: {extraGroups: [{name: mine}, {name: prober-gaps}]}", `prometheusRule.extraGroups[1] is called "prober-gaps", as another group is, and no rule at all would be loaded`},
		{vllm + "prometheusRule: {extraGroups: [{name: mine}, {name: mine}]}", `prometheusRule.extraGroups[1] is called "mine", as another group is`},
		{vllm + "webConfig: {certificateSecretName: a}", "webConfig without existingSecret.name: without a web configuration everything is served in plain text and without a login"},
		{vllm + "webConfig: {authentication: true}", "webConfig without existingSecret.name"},
		{vllm + "replicas: null\nimage: null", "replicas is null, and has to be something: leave it out for its default, or say what.\n  - image.repository is null"},
		{vllm + "env: {A: b}\nextraEnv: [{name: A, value: c}]", "the variable A is given 2 times: by env, extraEnv or the chart itself."},
		{vllm + "extraEnv: [{name: GOMEMLIMIT, value: 1GiB}]", "the variable GOMEMLIMIT is given 2 times"},
		{"sidecar: {enabled: true}\nextraEnv: [{name: PROBER_TARGETS_0_URL, value: \"http://a\"}]", "the variable PROBER_TARGETS_0_URL is given 2 times"},
		{"sidecar: {enabled: true}\nwebConfig: {existingSecret: {name: a}}", "webConfig with sidecar.enabled: a sidecar mounts nothing, and serves plain HTTP."},
		{vllm + "maxTokensPerDay: 182303999", "the targets cost 182,304,000 tokens a day (qps × 86400 × (prompt_tokens + max_tokens)), and maxTokensPerDay is 182,303,999: lower qps or prompt_tokens, or give targets a token_budget_per_day."},
		{vllm + "maxTokensPerDay: 200000000\nreplicas: 2", "the targets cost 364,608,000 tokens a day (qps × 86400 × (prompt_tokens + max_tokens) × 2 replicas)"},
		{"existingConfigMap: mine\nnetworkPolicy: {enabled: true}", "networkPolicy.enabled with targets that the chart does not see"},
		{"targets: [{url: \"http://a\", api_key: k}, {url: \"http://a\"}]\nmaxTokensPerDay: 10", "- targets[0].api_key is a secret in plain values: put it into a Secret and set targets[0].apiKey.existingSecret to its name and key.\n  - the targets cost 364,608,000 tokens"},
		{vllm + "prometheusRule: {disabled: {ProberNope: true}}", "prometheusRule.disabled.ProberNope: there is no such alert. There are ProberAbsent, "},

		// The other side of the same borders.
		{vllm + "enabled: true\nglobal: {imagePullSecrets: [registry]}\nreplicas: 0\nenv: {GOMEMLIMIT: 1GiB}\nmonitoring: {interval: 5s}\n" +
			"podLabels: {app.kubernetes.io/version: x, team: a}\ncommonLabels: {team: x, app.kubernetes.io/part-of: z}\n" +
			"objectives: [{signal: ttft, limit: 1s, goal: 0.9}, {name: slow, signal: ttft, limit: 2s, goal: 0.9}]", ""},
		{"targets: [{name: a, url: \"http://a\", api_key_file: /keys/foo}, {name: b, url: \"http://a\"}, {name: c, url: \"http://a/v1/@b\"},\n" +
			"{name: d, url: \"http://a:80/v1:x\"}, {name: e, url: \"https://[fd00::7]:8001/v1\"}, {name: f, url: \"http://[::1]\"}]", ""},
		{"extraEnvFrom: [{secretRef: {name: targets}}]", ""},
		{"env: {PROBER_TARGETS_FILE: /somewhere/targets.yaml}", ""},
		{vllm + "resources: null\nnetworkPolicy: {enabled: true, egress: {extra: [{}]}}\n" +
			"extraEnv: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: \"http://c:4318\"}]", ""},
		{vllm + "extraEnv: [{name: PROBER_TARGETS_0_HEADERS, valueFrom: {secretKeyRef: {name: a, key: b}}}]\nmaxTokensPerDay: 182304000", ""},
		{vllm + "maxTokensPerDay: 1000\nsettings: {token_budget_per_day: 1000}", ""},
		{vllm + "podMonitor: {enabled: true}\nmonitoring: {interval: 1m, scrapeTimeout: 60s}", ""},
		{vllm + "podMonitor: {enabled: true}\nmonitoring: {interval: 1d, scrapeTimeout: 1m30s500ms}", ""},
	} {
		_, err := helm(t, "template", "prober", chart, "--values", values(t, c.values))
		said := fmt.Sprint(err)
		if c.want == "" && err != nil {
			t.Errorf("%s\nis refused with\n%s", c.values, said)
		}
		for _, want := range []string{"prober cannot be installed with these values:\n", "\n  - ", c.want} {
			if c.want != "" && !strings.Contains(said, want) {
				t.Errorf("%s\nis refused with\n%s\nwant %q", c.values, said, want)
			}
		}
		if strings.Contains(said, "hunter2") {
			t.Errorf("a secret is printed: %s", said)
		}
	}
}

// TestOldClusters holds that sidecars and the chart itself say which Kubernetes
// they need.
func TestOldClusters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, values, want string }{
		{"1.28.9", "sidecar: {enabled: true}", "sidecar.enabled needs Kubernetes 1.29 or later, where sidecars are native; this is v1.28.9."},
		{"1.24.0", vllm, "chart requires kubeVersion: >=1.25.0-0"},
		{"1.25.0", vllm, ""},
		{"1.29.1-eks-36e8e0a", "sidecar: {enabled: true}", ""},
	} {
		_, err := helm(t, "template", "prober", chart, "--kube-version", c.version, "--values", values(t, c.values))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.version, err, c.want)
		}
	}
}
