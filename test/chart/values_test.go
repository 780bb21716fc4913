package chart_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// vllm is a targets file in values.
const vllm = "config: {targets: [{name: vllm, url: \"http://vllm:8000\"}]}\n"

// TestRefused holds one message of each kind: what the chart itself refuses, and what its schema does. Values that are
// only unusual are accepted.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ values, want string }{ // no want: accepted
		{values: "replicas: 2", want: "There is nothing to probe. Set config"},
		{values: vllm + "existingSecret: mine", want: "set only one of them"},
		{values: vllm + "shards: 2\nreplicas: 2", want: "Shards divide the targets"},
		{values: vllm + "service: {enabled: false}\nserviceMonitor: {enabled: true}", want: "serviceMonitor needs the Service"},
		{values: vllm + "service: {enabled: false}\ningress: {enabled: true}", want: "ingress needs the Service"},
		{values: vllm + "service: {enabled: false}\nhttpRoute: {enabled: true}", want: "httpRoute needs the Service"},
		{values: "deploy: false\ningress: {enabled: true}", want: "set deploy=true or ingress.enabled=false"},
		{values: "deploy: false\nhttpRoute: {enabled: true}", want: "set deploy=true or httpRoute.enabled=false"},
		{values: vllm + "service: {enabled: false}\npodMonitor: {enabled: true}"},
		{values: vllm + "serviceMonitor: {enabled: true}\npodMonitor: {enabled: true}", want: "count each probe twice"},
		{values: vllm + "prometheusRule: {by: [te-am]}", want: `has "te-am", which is no name of a label`},
		{values: vllm + "prometheusRule: {by: [team, prompt]}", want: `has "prompt", which the rules use themselves`},
		{values: vllm + "prometheusRule: {by: [team], additionalRuleLabels: {team: a}}", want: "gives it one value"},
		{values: "config: {targets: [{url: \"http://a\", modle: m}]}", want: "modle"},
		{values: "config: {api_key: k}", want: "api_key"},
		{values: "servicemonitor: {}", want: "servicemonitor"},
		{values: "deploy: false"},
		{values: "env: {PROBER_TARGETS_0_URL: \"http://a\"}"},
		{values: vllm + "imagePullSecrets: [a, {name: b}]"},
		{values: vllm + "resources: null\nlivenessProbe: null\nenv: {}"},
	} {
		said := ""
		_, err := helm(t, "template", "prober", chart, "--values", values(t, test.values))
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, test.want) || test.want == "" && said != "" {
			t.Errorf("%s\nis refused with %q\nwant %q", test.values, said, test.want)
		}
	}
}

// TestFractionsOfTheCommandLine holds that fractions, which --set turns into texts, are accepted.
func TestFractionsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	text := render(t, "--values", values(t, vllm), "--set", "config.qps=0.05,config.prompt_tokens=8000")
	proberAcceptsItsConfiguration(t, objects(t, text))
}

// TestNotes holds the two warnings in the notes: nothing collects the metrics, and kube-prometheus-stack ignores a monitor
// or rules.
func TestNotes(t *testing.T) {
	t.Parallel()
	const uncollected, ignored = "Nothing collects its metrics yet", `.labels has no "release"`
	for _, test := range []struct{ values, want string }{ // no want: no warning
		{values: "", want: uncollected},
		{values: "serviceMonitor: {enabled: true}", want: "serviceMonitor" + ignored},
		{
			values: "serviceMonitor: {enabled: true, labels: {release: a}}\nprometheusRule: {enabled: true}",
			want:   "prometheusRule" + ignored,
		},
		{values: "podMonitor: {enabled: true}\ncommonLabels: {release: a}\nshards: 2\nprometheusRule: {enabled: true}"},
		{values: "podMonitoring: {enabled: true}"},
		{values: "env: {OTEL_EXPORTER_OTLP_ENDPOINT: \"http://c:4318\"}"},
	} {
		out, err := helm(t, "install", "prober", chart, "--dry-run=client", "--values", values(t, vllm+test.values))
		_, notes, ok := strings.Cut(out, "\nNOTES:\n")
		if err != nil || !ok || !strings.Contains(notes, "helm test prober") {
			t.Fatalf("%q: %v\n%s", test.values, err, out)
		}
		warns := strings.Contains(notes, uncollected) || strings.Contains(notes, ignored)
		if warns != (test.want != "") || !strings.Contains(notes, test.want) {
			t.Errorf("%q: %s\nwant %q", test.values, notes, test.want)
		}
	}
}

// TestTargetsRestartNothing holds that a change of targets changes the ConfigMap
// and not the pod, and that one of the environment changes the pod.
func TestTargetsRestartNothing(t *testing.T) {
	t.Parallel()
	rendered := func(text string) (file, deployment any) {
		all := objects(t, render(t, "--values", values(t, vllm+text)))
		return only(t, all, "ConfigMap")["data"], only(t, all, "Deployment")
	}
	file, before := rendered("")
	for text, restarts := range map[string]bool{
		"config: {targets: [{name: a, url: \"http://a:8000\"}, {name: b, url: \"http://b:8000\"}]}": false,
		"config: {qps: 0.2}\nenv: {PROBER_LOG_LEVEL: debug}":                                        true,
	} {
		other, after := rendered(text)
		if reflect.DeepEqual(other, file) {
			t.Errorf("%s\nleaves the targets file", text)
		}
		if got := !reflect.DeepEqual(after, before); got != restarts {
			t.Errorf("%s\nrestarts: %v, want %v", text, got, restarts)
		}
	}
}

// TestVolumeNames holds that each Secret and ConfigMap has a volume of its own name, which Kubernetes takes, and that a
// short name without dots is part of it as it is. One that is given twice has one volume.
func TestVolumeNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 62)
	text := vllm + fmt.Sprintf("secrets: [a.b, a-b, a-b, %s1, %s2]\nconfigMaps: [a.b, a-b, a-b]\n", long, long)
	spec, _ := pod(only(t, objects(t, render(t, "--values", values(t, text))), "Deployment"))
	seen := map[string]bool{}
	for _, volume := range mappings(spec, "volumes") {
		name := fmt.Sprint(volume["name"])
		if seen[name] || !regexp.MustCompile("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$").MatchString(name) {
			t.Errorf("a volume has the name %s", name)
		}
		seen[name] = true
	}
	if len(seen) != 7 || !seen["secret-a-b"] || !seen["configmap-a-b"] {
		t.Errorf("volumes %v", seen)
	}
}

// TestLabels holds that a label of one object replaces that of all, that no label replaces one by which objects are
// selected, and that all objects have a name that a Service may have.
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

// TestAddresses holds which addresses of the page and of Grafana the prober gets, and that helm test gets none.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         " ",
		"ingress: {enabled: true}": "http://prober.example.com ",
		"ingress: {enabled: true, tls: [{secretName: a}], hosts: [{host: a.b, paths: [{path: /p/}]}]}": "https://a.b/p ",
		"ingress: {enabled: true, hosts: [{host: a.b, paths: [{path: \"/p(/|$)(.*)\"}]}]}":             "http://a.b ",
		"ingress: {enabled: true, hosts: [{host: \"*.b\", paths: [{path: /}]}]}":                       " ",
		"ingress: {enabled: true}\nenv: {PROBER_EXTERNAL_URL: \"http://mine\"}":                        "http://mine ",
		"ingress: {enabled: true}\nshards: 2":                                                          " ",
		"httpRoute: {enabled: true, hostnames: [a.b, c.d]}":                                            "https://a.b ",
		"prometheusRule: {grafanaUrl: \"https://grafana.b\"}":                                          " https://grafana.b",
	} {
		for _, o := range objects(t, render(t, "--values", values(t, vllm+text))) {
			spec, ok := pod(o)
			if !ok {
				continue
			}
			variables := environment(mappings(spec, "containers")[0])
			got := variables["PROBER_EXTERNAL_URL"] + " " + variables["PROBER_GRAFANA_URL"]
			wanted := want
			if o["kind"] == "Pod" && !strings.Contains(text, "env:") {
				wanted = " "
			}
			if got != wanted {
				t.Errorf("%s\ngives the %s %q, want %q", text, o["kind"], got, wanted)
			}
		}
	}
}

// TestHTTPS holds that health checks use HTTPS if the web configuration does.
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

// TestExemplars holds that a monitor with exemplars reads classic histograms and drops them, before its own relabeling,
// and that one without native histograms drops nothing: it would have none.
func TestExemplars(t *testing.T) {
	t.Parallel()
	const own = "{action: drop, sourceLabels: [__name__], regex: go_.+}"
	dropped := []any{"llm_.+_(bucket|count|sum)", "go_.+"}
	for _, test := range []struct {
		values  string
		classic any
		drops   []any
	}{
		{values: "exemplars: true", classic: true, drops: dropped},
		{values: "exemplars: false", drops: dropped[1:]},
		{values: "exemplars: true, scrapeNativeHistograms: false", drops: dropped[1:]},
	} {
		for kind, key := range map[string]string{"ServiceMonitor": "endpoints", "PodMonitor": "podMetricsEndpoints"} {
			text := fmt.Sprintf("%s%s: {enabled: true, %s, metricRelabelings: [%s]}",
				vllm, strings.ToLower(kind[:1])+kind[1:], test.values, own)
			monitor := only(t, objects(t, render(t, "--values", values(t, text))), kind)
			var drops []any
			for _, rule := range mappings(mappings(monitor, "spec", key)[0], "metricRelabelings") {
				drops = append(drops, rule["regex"])
			}
			classic := at(monitor, "spec", "scrapeClassicHistograms")
			if classic != test.classic || !reflect.DeepEqual(drops, test.drops) {
				t.Errorf("%s with %s: classic histograms %v, drops %v", kind, test.values, classic, drops)
			}
		}
	}
}
