package telemetry

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files")
	flag.Parse()
	os.Exit(m.Run())
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

func TestPrometheusNames(t *testing.T) {
	var got [][2]string
	for _, i := range Catalog() {
		got = append(got, [2]string{i.Name, i.PrometheusName()})
	}
	want := [][2]string{
		{"llm.probe.ttft", "llm_probe_ttft_seconds"},
		{"llm.probe.server_ttft", "llm_probe_server_ttft_seconds"},
		{"llm.probe.ttfat", "llm_probe_ttfat_seconds"},
		{"llm.probe.tpot", "llm_probe_tpot_seconds"},
		{"llm.probe.itl", "llm_probe_itl_seconds"},
		{"llm.probe.chunk_gap", "llm_probe_chunk_gap_seconds"},
		{"llm.probe.max_gap", "llm_probe_max_gap_seconds"},
		{"llm.probe.e2el", "llm_probe_e2el_seconds"},
		{"llm.probe.phase", "llm_probe_phase_seconds"},
		{"llm.probe.failed", "llm_probe_failed_seconds"},
		{"llm.probe.probes", "llm_probe_probes_total"},
		{"llm.probe.tokens", "llm_probe_tokens_total"},
		{"llm.probe.prompt_cache", "llm_probe_prompt_cache_total"},
		{"llm.probe.frames", "llm_probe_frames_total"},
		{"llm.probe.coalesced_frames", "llm_probe_coalesced_frames_total"},
		{"llm.probe.joined_tokens", "llm_probe_joined_tokens_total"},
		{"llm.probe.tainted", "llm_probe_tainted_total"},
		{"llm.probe.objective_events", "llm_probe_objective_events_total"},
		{"llm.probe.skipped", "llm_probe_skipped_total"},
		{"llm.probe.interval", "llm_probe_interval_seconds"},
		{"llm.probe.in_flight", "llm_probe_in_flight"},
		{"llm.probe.oldest_in_flight", "llm_probe_oldest_in_flight_seconds"},
		{"llm.probe.last_probe_timestamp", "llm_probe_last_probe_timestamp_seconds"},
		{"llm.probe.last_success_timestamp", "llm_probe_last_success_timestamp_seconds"},
		{"llm.probe.objective_goal", "llm_probe_objective_goal_ratio"},
		{"llm.probe.objective_limit", "llm_probe_objective_limit_seconds"},
		{"llm.probe.tls_earliest_cert_expiry_timestamp", "llm_probe_tls_earliest_cert_expiry_timestamp_seconds"},
		{"llm.probe.target_info", "llm_probe_target_info"},
		{"llm.prober.schedule_delay", "llm_prober_schedule_delay_seconds"},
		{"llm.prober.read_delay", "llm_prober_read_delay_seconds"},
		{"llm.prober.refused_stamps", "llm_prober_refused_stamps_total"},
		{"llm.prober.build_info", "llm_prober_build_info"},
		{"llm.prober.config_last_reload_successful", "llm_prober_config_last_reload_successful"},
		{"llm.prober.config_last_reload_success_timestamp", "llm_prober_config_last_reload_success_timestamp_seconds"},
		{"llm.prober.export_failures", "llm_prober_export_failures_total"},
		{"llm.prober.dns_lookup_failures", "llm_prober_dns_lookup_failures_total"},
		{"gen_ai.client.operation.duration", "gen_ai_client_operation_duration_seconds"},
		{"gen_ai.client.operation.time_to_first_chunk", "gen_ai_client_operation_time_to_first_chunk_seconds"},
		{"gen_ai.client.operation.time_per_output_chunk", "gen_ai_client_operation_time_per_output_chunk_seconds"},
		{"gen_ai.client.token.usage", "gen_ai_client_token_usage"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestCatalogIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, i := range Catalog() {
		for _, name := range []string{i.Name, i.PrometheusName()} {
			if names[name] {
				t.Errorf("%s is there twice", name)
			}
			names[name] = true
		}
		if i.Help == "" || !strings.HasSuffix(i.Help, ".") || strings.Contains(i.Help, ". ") || strings.Contains(i.Help, "\n") {
			t.Errorf("%s: help is not one sentence: %q", i.Name, i.Help)
		}
		if (i.Kind == Histogram) != (len(i.Bounds) > 0) {
			t.Errorf("%s: a %s with %d bounds", i.Name, i.Kind, len(i.Bounds))
		}
		if !slices.IsSorted(i.Bounds) || len(slices.Compact(slices.Clone(i.Bounds))) != len(i.Bounds) {
			t.Errorf("%s: bounds do not ascend", i.Name)
		}
		if i.Zero < 0 || i.Zero > 0 && i.Kind != Histogram {
			t.Errorf("%s: a %s that counts what is not above %g as zero", i.Name, i.Kind, i.Zero)
		}
		byMethod := slices.Contains([]string{ExportFailures, LookupFailures, skipped, buildInfo, reloadOK, reloadTime}, i.Name)
		if (i.ofResult != nil) != (i.Kind != Gauge && !byMethod) || (i.ofTarget != nil) != (i.Kind == Gauge && !byMethod) {
			t.Errorf("%s: a %s must take its values from results, from targets if it is a gauge, or from a method alone", i.Name, i.Kind)
		}
		if !slices.Contains([]string{"s", "1", ""}, i.Unit) && !strings.HasPrefix(i.Unit, "{") {
			t.Errorf("%s: the translation does not know unit %q", i.Name, i.Unit)
		}
	}
}

func TestLabelsAreBounded(t *testing.T) {
	for _, i := range Catalog() {
		inPoint := 0
		for _, l := range i.Labels {
			if l.fact == nil {
				inPoint++
			}
			if (l.Values == nil) == (l.From == "") {
				t.Errorf("%s: label %s must have either its values or who names them", i.Name, l.Name)
			}
			if i.ofResult != nil && l.Values == nil && l.of == nil {
				t.Errorf("%s: the series of label %s are unknown before the first sample", i.Name, l.Name)
			}
		}
		if inPoint > len(point{}) {
			t.Errorf("%s has %d labels of its own", i.Name, inPoint)
		}
	}
}

func TestBoundsHoldThoseOfVLLM(t *testing.T) {
	for name, theirs := range map[string][]float64{
		"llm.probe.itl":  {.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10},
		"llm.probe.ttft": {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160},
		"llm.probe.e2el": {.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480},
	} {
		n := slices.IndexFunc(Catalog(), func(i Instrument) bool { return i.Name == name })
		for _, bound := range theirs {
			if !slices.Contains(Catalog()[n].Bounds, bound) {
				t.Errorf("%s lacks %v", name, bound)
			}
		}
	}
}
