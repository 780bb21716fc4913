package chart_test

import (
	"slices"
	"testing"
)

// A way is a connection of a prober's pod: from a namespace to a port of the pod, or
// to a port elsewhere.
type way struct {
	from     string // namespace; empty: the connection goes out
	port     any    // number, or the name of a port of the pod
	protocol string
}

// TestNetworkPolicy holds which connections the policy lets through, as a network
// plugin reads it.
func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	var (
		scrape   = way{"monitoring", "http", "TCP"}
		stranger = way{"elsewhere", "http", "TCP"}
		debug    = way{"monitoring", "debug", "TCP"}
		dns      = way{"", 53, "UDP"}
		longDNS  = way{"", 53, "TCP"}
		ssh      = way{"", 22, "TCP"}
		quic     = way{"", 8000, "UDP"}
	)
	to := func(port int) way { return way{"", port, "TCP"} }
	for _, c := range []struct {
		values    string
		open, not []way
	}{
		{"", []way{scrape, dns, longDNS, to(8000)}, []way{stranger, debug, ssh, quic, to(80), to(443)}},
		{"targets: [{name: a, url: \"https://a/v1\"}, {name: b, url: \"dns+http://b\"}]\n", []way{to(443), to(80)}, []way{to(8000)}},
		{"networkPolicy: {enabled: true, egress: {dnsPorts: []}}\n", []way{to(8000)}, []way{dns, longDNS, ssh}},
		{"networkPolicy: {enabled: true, egress: {dnsPorts: [5353], ports: [8443]}}\n", []way{to(8000), to(8443), {"", 5353, "UDP"}}, []way{dns, ssh}},
		{"networkPolicy: {enabled: true, ingress: {from: []}}\n", []way{scrape, stranger}, []way{debug}},
		{"networkPolicy: {enabled: true, ingress: {extra: [{ports: [{port: debug}]}]}}\n", []way{scrape, debug}, []way{stranger}},
		{"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"http://c:4318\"}\n", []way{to(4318)}, []way{to(4317), ssh}},
		{"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"c:4317\", OTEL_EXPORTER_OTLP_PROTOCOL: grpc}\n", []way{to(4317)}, []way{to(80)}},
		{"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"dns:///c:4317\"}\n", []way{to(4317)}, []way{to(80)}},
		{"env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"unix:///run/c.sock\"}\n", []way{to(8000)}, []way{to(80)}},
		{"extraEnv: [{name: OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, value: \"http://$(HOST_IP):4318\"}]\n", []way{to(4318)}, []way{to(80)}},
		{"env: {HTTPS_PROXY: \"http://proxy.example.com:3128\", NO_PROXY: \"a:22\"}\n", []way{to(3128), to(8000)}, []way{ssh}},
		{"extraEnv: [{name: https_proxy, value: \"proxy:3128\"}]\n", []way{to(3128)}, []way{ssh}},
		{"env: {PROBER_TARGETS_0_URL: \"http://b:9000\"}\n", []way{to(8000), to(9000)}, []way{ssh}},
	} {
		policy := only(t, objects(t, render(t, "--values", values(t, vllm+"networkPolicy: {enabled: true}\n"), "--values", values(t, c.values))), "NetworkPolicy")
		for _, w := range c.open {
			if !passes(policy, w) {
				t.Errorf("%s%+v is cut off", c.values, w)
			}
		}
		for _, w := range c.not {
			if passes(policy, w) {
				t.Errorf("%s%+v is open", c.values, w)
			}
		}
	}
}

// passes reports whether a policy of the chart lets a connection through: a rule
// that names no ports is about all, and one that names no peers about everyone.
func passes(policy object, w way) bool {
	direction, peers := "egress", "to"
	if w.from != "" {
		direction, peers = "ingress", "from"
	}
	return slices.ContainsFunc(mappings(policy, "spec", direction), func(rule map[string]any) bool {
		ports, others := mappings(rule, "ports"), mappings(rule, peers)
		return (len(ports) == 0 || slices.ContainsFunc(ports, func(p map[string]any) bool {
			protocol, named := p["protocol"].(string)
			return p["port"] == w.port && (protocol == w.protocol || !named && w.protocol == "TCP")
		})) && (len(others) == 0 || slices.ContainsFunc(others, func(peer map[string]any) bool {
			return at(peer, "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name") == w.from
		}))
	})
}
