package chart_test

import (
	"reflect"
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
