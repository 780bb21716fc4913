package chart_test

import "testing"

// TestOwnLabelsWin holds that a label of one object replaces the same one of all:
// both would be no YAML for Kustomize and for others that are strict.
func TestOwnLabelsWin(t *testing.T) {
	t.Parallel()
	const text = "commonLabels: {team: common}\nservice: {labels: {team: own}}\npodLabels: {team: own}\n" +
		"monitoring: {labels: {team: own}}\npodMonitor: {enabled: true}\ngrafanaDashboards: {enabled: true, labels: {team: own}}\n"
	for _, o := range objects(t, render(t, "--values", values(t, vllm+text))) {
		want := "common"
		switch kind, data := o["kind"], asMap(o["data"]); {
		case kind == "ConfigMap" && data["targets.yaml"] == nil, kind == "Service", kind == "PodMonitor", kind == "Pod":
			want = "own"
		}
		if got := at(o, "metadata", "labels", "team"); got != want {
			t.Errorf("%s %s is of team %v, want %s", o["kind"], at(o, "metadata", "name"), got, want)
		}
		if got := at(o, "spec", "template", "metadata", "labels", "team"); o["kind"] == "Deployment" && got != "own" {
			t.Errorf("the pods are of team %v", got)
		}
	}
}
