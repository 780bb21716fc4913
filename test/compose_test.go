package test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/alertmanager/config"
	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/test/program"
)

const composeDir = "../deploy/compose/"

func composeProject(t *testing.T, environ ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{composeDir + "compose.yaml"}, cli.WithEnv(environ))
	must(t, err)
	project, err := options.LoadProject(t.Context())
	must(t, err)
	return project
}

// TestComposeProject holds that the project is what the Compose specification allows, is reached from this machine
// alone, says when it works, and has the versions that these tests run and files that are there.
func TestComposeProject(t *testing.T) {
	module, err := os.ReadFile("go.mod")
	must(t, err)
	project := composeProject(t)
	for name, s := range project.Services {
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" || p.Published == "" {
				t.Errorf("%s publishes %v", name, p)
			}
		}
		version := regexp.MustCompile(`:v?([0-9]+)\.([0-9]+)\.([0-9]+)$`).FindStringSubmatch(s.Image)
		if (s.HealthCheck == nil) != (name == "prober") || s.Build == nil && version == nil {
			t.Errorf("%s has the image %s and the health check %v", name, s.Image, s.HealthCheck)
		}
		want := map[string]string{"prometheus": "prometheus/prometheus v0.3", "alertmanager": "prometheus/alertmanager v0."}[name]
		if want != "" && !strings.Contains(string(module), want+version[2]+"."+version[3]+"\n") {
			t.Errorf("%s is %s, in go.mod it is not", name, s.Image)
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == types.VolumeTypeBind && (err != nil || !v.ReadOnly) {
				t.Errorf("%s mounts %s: %v", name, v.Source, err)
			}
		}
	}
	for target, want := range map[string][]string{"": {"run"}, "http://host.docker.internal:8000": {"run", "http://host.docker.internal:8000"}} {
		if s := composeProject(t, "TARGET="+target).Services; len(s) != 5 || !slices.Equal(s["prober"].Command, want) {
			t.Errorf("with the target %q %d services, the prober runs %q", target, len(s), s["prober"].Command)
		}
	}
}

// TestComposeFindsAndAlerts runs Prometheus with the project's configuration and flags on two simulated servers: it
// finds the prober, and Alertmanager is told of the fault of one, and of its end. What the rules find is promtool's
// matter, and that of the simulated month.
func TestComposeFindsAndAlerts(t *testing.T) {
	t.Parallel()
	servers, a, address := program.Simulate(t, "fast,fast"), newAlertmanager(t), program.FreeAddress(t)
	settings := strings.NewReplacer("prober:9464", address, "alertmanager:9093", strings.TrimPrefix(a.URL, "http://"), "scrape_interval: 5s", "scrape_interval: 500ms").
		Replace(composeFile(t, "prometheus.yml"))
	var features []string
	for _, flag := range composeProject(t).Services["prometheus"].Command {
		if strings.HasPrefix(flag, "--enable-feature") {
			features = append(features, flag)
		}
	}
	p := startPrometheus(t, settings, features...)
	targets := filepath.Join(t.TempDir(), "targets.yaml")
	write(t, targets, strings.NewReplacer("http://simulator:8801", servers[0], "http://simulator:8802",
		servers[1], "qps: 0.25", "qps: 2").
		Replace(composeFile(t, "targets/targets.yaml")))
	program.Run(t, []string{"PROBER_LISTEN_ADDRESS=" + address, "PROBER_TARGETS_FILE=" + targets,
		"PROBER_MAX_TOKENS_PER_DAY=none"})
	p.becomes(t, `count(histogram_count(llm_probe_ttft_seconds) > 1)`, 2)
	program.SetFault(t, servers[0], `{"status":503}`)
	a.expect(t, p, "production-stack", "ray-serve", func() { program.SetFault(t, servers[0], "") })
}

// TestComposeConfigurations holds that promtool and Alertmanager's own code take their files, with the rules beside
// them, and that Grafana's have no key that its documentation does not.
func TestComposeConfigurations(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/prometheus.yml", composeFile(t, "prometheus.yml"))
	write(t, dir+"/rules.yaml", shippedRules(t))
	if said, ok := promtool(t, "", "check", "config", dir+"/prometheus.yml"); !ok {
		t.Error(said)
	}
	ours, err := config.Load(composeFile(t, "alertmanager.yml"))
	must(t, err)
	inhibit, err := os.ReadFile(filepath.Join(alertsDir, "inhibit.yaml"))
	must(t, err)
	shipped, err := config.Load("route: {receiver: page}\nreceivers: [{name: page}]\n" + string(inhibit))
	must(t, err)
	if !reflect.DeepEqual(ours.InhibitRules, shipped.InhibitRules) {
		t.Error("alertmanager.yml has other inhibit rules than alerts/inhibit.yaml")
	}

	var sources struct {
		Version     int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			Default                      bool `yaml:"isDefault"`
			JSON                         struct {
				Method    string              `yaml:"httpMethod"`
				Interval  string              `yaml:"timeInterval"`
				Exemplars []map[string]string `yaml:"exemplarTraceIdDestinations"`
			} `yaml:"jsonData"`
		}
	}
	var providers struct {
		Version   int `yaml:"apiVersion"`
		Providers []struct {
			Name, Folder, Type string
			Keep               bool `yaml:"disableDeletion"`
			Options            struct{ Path string }
		}
	}
	for file, into := range map[string]any{"datasources.yaml": &sources, "dashboards.yaml": &providers} {
		decoder := yaml.NewDecoder(bytes.NewReader([]byte(composeFile(t, file))))
		decoder.KnownFields(true)
		must(t, decoder.Decode(into))
	}
	link := map[string]string{"name": "trace_id", "url": "$${prober}/probes/$${__value.raw}", "urlDisplayLabel": "Probe"}
	if got := sources.Datasources[0].JSON.Exemplars; len(got) != 1 || !maps.Equal(got[0], link) {
		t.Errorf("exemplars lead to %v, want %v", got, link)
	}
	mounted := slices.ContainsFunc(composeProject(t).Services["grafana"].Volumes, func(v types.ServiceVolumeConfig) bool {
		return v.Target == providers.Providers[0].Options.Path && filepath.Base(v.Source) == "dashboards"
	})
	if !mounted {
		t.Errorf("no dashboards at %v", providers.Providers[0].Options)
	}
}

func composeFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(composeDir + name)
	must(t, err)
	return string(text)
}
