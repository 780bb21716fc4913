package chart_test

import (
	"reflect"
	"testing"
)

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
