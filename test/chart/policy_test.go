package chart_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestNetworkPolicy holds which connections the policy lets through, as a network plugin reads it: "monitoring:http" is one
// from a namespace to a port of the pod, "53/UDP" one from the pod to a port elsewhere. Without a protocol it is TCP.
func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ values, open, not string }{
		{"", "monitoring:http 53/UDP 53 8000", "elsewhere:http monitoring:debug 22 8000/UDP 80 443"},
		{"targets: [{name: a, url: \"https://a/v1\"}, {name: b, url: \"dns+http://b\"}]\n", "443 80", "8000"},
		{"networkPolicy: {enabled: true, egress: {dnsPorts: []}}\n", "8000", "53/UDP 53 22"},
		{"networkPolicy: {enabled: true, egress: {dnsPorts: null}}\n", "8000", "53/UDP 22"},
		{"networkPolicy: {enabled: true, egress: {dnsPorts: [5353], ports: [8443]}}\n", "8000 8443 5353/UDP", "53/UDP 22"},
		{"networkPolicy: {enabled: true, ingress: {from: []}}\n", "monitoring:http elsewhere:http", "monitoring:debug"},
		{"networkPolicy: {enabled: true, ingress: {extra: [{ports: [{port: debug}]}]}}\n", "monitoring:http monitoring:debug", "elsewhere:http"},
		{"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"http://c:4318\"}\n", "4318", "4317 22"},
		{"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"c:4317\", OTEL_EXPORTER_OTLP_PROTOCOL: grpc}\n", "4317", "80"},
		{"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"dns:///c:4317\"}\n", "4317", "80"},
		{"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"unix:///run/c.sock\"}\n", "8000", "80"},
		{"extraEnv: [{name: OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, value: \"http://$(HOST_IP):4318\"}]\n", "4318", "80"},
		{"env: {HTTPS_PROXY: \"http://proxy.example.com:3128\", NO_PROXY: \"a:22\"}\n", "3128 8000", "22"},
		{"extraEnv: [{name: https_proxy, value: \"proxy:3128\"}]\n", "3128", "22"},
		{"env: {PROBER_TARGETS_0_URL: \"http://b:9000\"}\n", "8000 9000", "22"},
	} {
		policy := only(t, objects(t, render(t, "--values", values(t, vllm+"networkPolicy: {enabled: true}\n"), "--values", values(t, c.values))), "NetworkPolicy")
		for way := range strings.FieldsSeq(c.open) {
			if !passes(policy, way) {
				t.Errorf("%s%s is cut off", c.values, way)
			}
		}
		for way := range strings.FieldsSeq(c.not) {
			if passes(policy, way) {
				t.Errorf("%s%s is open", c.values, way)
			}
		}
	}
}

// passes reports whether a policy of the chart lets a connection through: a rule
// that names no ports is about all, and one that names no peers about everyone.
func passes(policy object, way string) bool {
	direction, peers := "egress", "to"
	from, to, in := strings.Cut(way, ":")
	if in {
		direction, peers = "ingress", "from"
	} else {
		from, to = "", way
	}
	port, protocol, _ := strings.Cut(to, "/")
	return slices.ContainsFunc(mappings(policy, "spec", direction), func(rule map[string]any) bool {
		ports, others := mappings(rule, "ports"), mappings(rule, peers)
		return (len(ports) == 0 || slices.ContainsFunc(ports, func(p map[string]any) bool {
			named, _ := p["protocol"].(string)
			return fmt.Sprint(p["port"]) == port && cmp.Or(named, "TCP") == cmp.Or(protocol, "TCP")
		})) && (len(others) == 0 || slices.ContainsFunc(others, func(peer map[string]any) bool {
			return at(peer, "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name") == from
		}))
	})
}
