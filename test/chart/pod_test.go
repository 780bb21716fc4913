package chart_test

import (
	"reflect"
	"strings"
	"testing"
)

// TestMemoryLimit holds what becomes of a limit, however Kubernetes lets it be written.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]string{
		"512Mi": "460MiB", "1.5Gi": "1382MiB", "1e9": "858MiB", "1000000000": "858MiB", `"1000000000"`: "858MiB", "129M": "110MiB",
		"134217728000m": "115MiB", "2E9": "1716MiB", "null": "", "0": "",
	} {
		deployment := only(t, objects(t, render(t, "--values", values(t, vllm+"resources: {limits: {memory: "+limit+"}}"))), "Deployment")
		spec, _ := pod(deployment)
		if got := environment(mappings(spec, "containers")[0])["GOMEMLIMIT"]; got != want {
			t.Errorf("%s becomes %q, want %q", limit, got, want)
		}
	}
}

// TestStrategy holds that what Kubernetes would add to a strategy is there: what
// Helm did not set it could not take away on the way to Recreate, and the upgrade
// would fail.
func TestStrategy(t *testing.T) {
	t.Parallel()
	rolling := func(surge, unavailable any) object {
		return object{"maxSurge": surge, "maxUnavailable": unavailable}
	}
	for text, want := range map[string]any{
		"":                                nil,
		"strategy: {type: Recreate}":      nil,
		"replicas: 2":                     rolling(0, 1),
		"strategy: {type: RollingUpdate}": rolling("25%", "25%"),
		"strategy: {rollingUpdate: null}": rolling("25%", "25%"),
		"strategy: {rollingUpdate: {maxSurge: 0}}": rolling(0, "25%"),
	} {
		got := at(only(t, objects(t, render(t, "--values", values(t, vllm+text))), "Deployment"), "spec", "strategy", "rollingUpdate")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q becomes %v, want %v", text, got, want)
		}
	}
}

// TestSidecarsAreScrapedWhenTheyRun holds that the PodMonitor of sidecars leaves out
// pods that are not there yet, before the relabelings of the values.
func TestSidecarsAreScrapedWhenTheyRun(t *testing.T) {
	t.Parallel()
	text := "monitoring: {relabelings: [{targetLabel: cluster, replacement: eu}]}\npodMonitor: {enabled: true}\n"
	for mode, want := range map[string]int{vllm: 1, "sidecar: {enabled: true, selector: {app: a}}\n": 2} {
		monitor := only(t, objects(t, render(t, "--values", values(t, text+mode))), "PodMonitor")
		rules := mappings(mappings(monitor, "spec", "podMetricsEndpoints")[0], "relabelings")
		if len(rules) != want || rules[want-1]["targetLabel"] != "cluster" || want == 2 && rules[0]["regex"] != "Running" {
			t.Errorf("%s: the relabelings are %v", mode, rules)
		}
	}
}

// TestMetadata holds that a label of one object replaces the same one of all: both would be no YAML for
// Kustomize and for others that are strict. And that objects have a name that a Service may have, too.
func TestMetadata(t *testing.T) {
	t.Parallel()
	const text = "fullnameOverride: my.prober\ncommonLabels: {team: common}\nservice: {labels: {team: own}}\npodLabels: {team: own}\n" +
		"monitoring: {labels: {team: own}}\npodMonitor: {enabled: true}\ngrafanaDashboards: {enabled: true, labels: {team: own}}\n"
	for _, o := range objects(t, render(t, "--values", values(t, vllm+text))) {
		want := "common"
		switch kind := o["kind"]; {
		case kind == "ConfigMap" && at(o, "data", "targets.yaml") == nil, kind == "Service", kind == "PodMonitor", kind == "Pod":
			want = "own"
		}
		name, _ := at(o, "metadata", "name").(string)
		if got := at(o, "metadata", "labels", "team"); got != want || !strings.HasPrefix(name, "my-prober") {
			t.Errorf("%s %s is of team %v, want my-prober of %s", o["kind"], name, got, want)
		}
		if got := at(o, "spec", "template", "metadata", "labels", "team"); o["kind"] == "Deployment" && got != "own" {
			t.Errorf("the pods are of team %v", got)
		}
	}
}

// TestTargetsRestartNothing holds that a change of targets changes the ConfigMap
// and not the pod, and that one of the environment changes the pod.
func TestTargetsRestartNothing(t *testing.T) {
	t.Parallel()
	const one = "targets: [{name: a, url: \"http://a:8000\"}]\n"
	of := func(text string) (file, deployment any) {
		all := objects(t, render(t, "--values", values(t, text)))
		return only(t, all, "ConfigMap")["data"], only(t, all, "Deployment")
	}
	file, before := of(one)
	for text, restarts := range map[string]bool{
		"targets: [{name: a, url: \"http://a:8000\"}, {name: b, url: \"http://b:8000\", qps: 0.5}]": false,
		one + "objectives: [{signal: availability, goal: 0.9}]":                                     false,
		one + "settings: {prompt_tokens: 1000}":                                                     false,
		one + "prometheusRule: {enabled: true}\nsettings: {qps: 0.2}":                               false,
		one + "env: {PROBER_LOG_LEVEL: debug}\nsettings: {qps: 0.2}":                                true,
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
