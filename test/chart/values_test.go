package chart_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// vllm is a targets file in values.
const vllm = "config: {targets: [{name: vllm, url: \"http://vllm:8000\"}]}\n"

// TestRefused holds what the chart says of values that cannot be installed, and that it takes what lies beside
// them.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"replicas: 2":                   "There is nothing to probe: set config",
		vllm + "existingSecret: mine":   "only one can be the targets file",
		vllm + "shards: 2\nreplicas: 2": "shards divide the targets",
		vllm + "serviceMonitor: {enabled: true}\npodMonitor: {enabled: true}": "count each probe twice",
		"config: {targets: [{url: \"http://a\", modle: m}]}":                  "modle",
		"config: {api_key: k}":                                 "api_key",
		"servicemonitor: {}":                                   "servicemonitor",
		"deploy: false":                                        "",
		"env: {PROBER_TARGETS_0_URL: \"http://a\"}":            "",
		vllm + "imagePullSecrets: [a, {name: b}]":              "",
		vllm + "resources: null\nlivenessProbe: null\nenv: {}": "",
	} {
		_, err := helm(t, "template", "prober", chart, "--values", values(t, text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\nis refused with %v\nwant %q", text, err, want)
		}
	}
}

// TestFractionsOfTheCommandLine holds that --set, which makes texts of fractions, is enough for them.
func TestFractionsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	text := render(t, "--values", values(t, vllm), "--set", "config.qps=0.05,config.prompt_tokens=8000")
	proberAcceptsItsConfiguration(t, objects(t, text))
}

// TestNotes holds the two traps that notes warn of: nothing scrapes the prober, and kube-prometheus-stack does
// not see it.
func TestNotes(t *testing.T) {
	t.Parallel()
	const unread, ignored = "Nothing scrapes it yet", `.labels has no "release"`
	for text, want := range map[string]string{
		"":                                unread,
		"serviceMonitor: {enabled: true}": "serviceMonitor" + ignored,
		"serviceMonitor: {enabled: true, labels: {release: a}}\nprometheusRule: {enabled: true}":              "prometheusRule" + ignored,
		"podMonitor: {enabled: true}\ncommonLabels: {release: a}\nshards: 2\nprometheusRule: {enabled: true}": "",
		"podMonitoring: {enabled: true}":                        "",
		"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"http://c:4318\"}": "",
	} {
		out, err := helm(t, "install", "prober", chart, "--dry-run=client", "--values", values(t, vllm+text))
		_, notes, ok := strings.Cut(out, "\nNOTES:\n")
		if err != nil || !ok || !strings.Contains(notes, "helm test prober") {
			t.Fatalf("%q: %v\n%s", text, err, out)
		}
		warned := strings.Contains(notes, unread) || strings.Contains(notes, ignored)
		if warned != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("%q: %s\nwant %q", text, notes, want)
		}
	}
}

// TestTargetsRestartNothing holds that a change of targets changes the ConfigMap
// and not the pod, and that one of the environment changes the pod.
func TestTargetsRestartNothing(t *testing.T) {
	t.Parallel()
	of := func(text string) (file, deployment any) {
		all := objects(t, render(t, "--values", values(t, vllm+text)))
		return only(t, all, "ConfigMap")["data"], only(t, all, "Deployment")
	}
	file, before := of("")
	for text, restarts := range map[string]bool{
		"config: {targets: [{name: a, url: \"http://a:8000\"}, {name: b, url: \"http://b:8000\"}]}": false,
		"config: {qps: 0.2}\nenv: {PROBER_LOG_LEVEL: debug}":                                        true,
	} {
		other, after := of(text)
		if reflect.DeepEqual(other, file) {
			t.Errorf("%s\nleaves the targets file", text)
		}
		if got := !reflect.DeepEqual(after, before); got != restarts {
			t.Errorf("%s\nrestarts: %v, want %v", text, got, restarts)
		}
	}
}

// TestLabels holds that a label of one object replaces the same one of all, but none by which objects are
// selected; and that objects have a name that a Service may have, too.
func TestLabels(t *testing.T) {
	t.Parallel()
	const text = "fullnameOverride: my.prober\npodMonitor: {enabled: true, labels: {team: own}}\n" +
		"commonLabels: {team: common, app.kubernetes.io/name: other}\n" +
		"service: {labels: {team: own}}\npodLabels: {team: own}\n"
	for _, o := range objects(t, render(t, "--values", values(t, vllm+text))) {
		want := map[any]string{"Service": "own", "PodMonitor": "own", "Pod": "own"}[o["kind"]]
		if want == "" {
			want = "common"
		}
		name := fmt.Sprint(at(o, "metadata", "name"))
		if got := at(o, "metadata", "labels", "team"); got != want || !strings.HasPrefix(name, "my-prober") {
			t.Errorf("%s %s is of team %v, want my-prober of %s", o["kind"], name, got, want)
		}
		if got := at(o, "metadata", "labels", "app.kubernetes.io/name"); got != "prober" {
			t.Errorf("%s %s is of %v", o["kind"], name, got)
		}
		if got := at(o, "spec", "template", "metadata", "labels", "team"); o["kind"] == "Deployment" && got != "own" {
			t.Errorf("the pods are of team %v", got)
		}
	}
}

// TestHTTPS holds that health checks speak what the web configuration serves.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"":                               nil,
		"webConfig: {existingSecret: a}": "HTTPS",
		"webConfig: {existingSecret: a, tls: false}": nil,
	} {
		spec, _ := pod(only(t, objects(t, render(t, "--values", values(t, vllm+text))), "Deployment"))
		for _, name := range []string{"livenessProbe", "readinessProbe"} {
			check := at(mappings(spec, "containers")[0], name, "httpGet")
			if got := at(check, "scheme"); got != want || at(check, "port") != "http" {
				t.Errorf("%q: the %s asks %v", text, name, check)
			}
		}
	}
}
