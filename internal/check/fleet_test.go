package check

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// A fleet is simulated servers by the host that they are asked as.
type fleet map[string]http.Handler

func (f fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) { f[r.Host].ServeHTTP(w, r) }

// newFleet returns servers of which some have a fault.
func newFleet(t *testing.T) fleet {
	t.Helper()
	servers := fleet{}
	for host, c := range map[string]struct {
		profile string
		context int
		fault   sim.Fault
	}{
		"fine": {profile: "fast"}, "tgi": {profile: "tgi"}, "short": {profile: "fast", context: 64},
		"busy": {profile: "fast", fault: sim.Fault{Status: 503}}, "slow": {profile: "fast", fault: sim.Fault{TTFT: 60}},
		"limited": {profile: "fast", fault: sim.Fault{Status: 429}},
	} {
		profile, err := sim.ParseProfile(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		profile.MaxModelLen = c.context
		server := sim.New(sim.Config{Profile: profile, Seed: 1})
		t.Cleanup(server.Close)
		if err := server.SetFault(c.fault); err != nil {
			t.Fatal(err)
		}
		servers[host] = server
	}
	return servers
}

// TestFleet holds the table of targets that fail, miss an objective, have no sample of one, cost too much, have a wrong
// setting, are disabled, or are well.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loaded, err := config.Load(config.Options{Environ: map[string]string{
			"PROBER_PROMPT_TOKENS": "80", "PROBER_MAX_TOKENS_PER_DAY": "none", "PROBER_TIMESTAMPS": "user",
			"PROBER_TARGETS_0_URL": "http://fine", "PROBER_TARGETS_0_NAME": "chat-eu-1",
			"PROBER_TARGETS_1_URL": "http://tgi", "PROBER_TARGETS_1_NAME": "chat-eu-2",
			"PROBER_TARGETS_2_URL": "http://short", "PROBER_TARGETS_2_NAME": "chat-us-1",
			"PROBER_TARGETS_3_URL": "http://limited", "PROBER_TARGETS_3_NAME": "chat-us-2",
			"PROBER_TARGETS_4_URL": "http://slow", "PROBER_TARGETS_4_NAME": "chat-us-3",
			"PROBER_TARGETS_5_URL": "http://fine", "PROBER_TARGETS_5_NAME": "chat-us-4", "PROBER_TARGETS_5_QPS": "fast",
			"PROBER_TARGETS_6_URL": "http://fine", "PROBER_TARGETS_6_NAME": "chat-ap-1", "PROBER_TARGETS_6_QPS": "10",
			"PROBER_TARGETS_7_URL": "http://busy", "PROBER_TARGETS_7_NAME": "chat-ap-2",
			"PROBER_TARGETS_8_URL": "http://fine", "PROBER_TARGETS_8_NAME": "chat-ap-3", "PROBER_TARGETS_8_MAX_TOKENS": "1",
			"PROBER_TARGETS_9_URL": "http://fine", "PROBER_TARGETS_9_NAME": "chat-ap-4", "PROBER_TARGETS_9_ENABLED": "off",
			"PROBER_OBJECTIVES_0_NAME": "fast_start", "PROBER_OBJECTIVES_0_SIGNAL": "ttft",
			"PROBER_OBJECTIVES_0_LIMIT": "1s", "PROBER_OBJECTIVES_1_NAME": "no_stall",
			"PROBER_OBJECTIVES_1_SIGNAL": "max_gap", "PROBER_OBJECTIVES_1_LIMIT": "1s",
		}})
		if err != nil {
			t.Fatal(err)
		}
		c := Check{
			Table: true, Problems: loaded.Problems(), Rejected: loaded.Rejected,
			Judge: func(_ string, results ...*probe.Result) []report.Attainment {
				var samples []report.Sample
				for _, r := range results {
					samples = append(samples, report.SampleOf(r, nil, loaded.Targets[0].Objectives...))
				}
				return report.Summarize(samples, loaded.Targets[0].Objectives...).Objectives
			},
		}
		golden.Equal(t, "testdata/fleet.golden", runOn(t, newFleet(t), loaded, &c))
	})
}

// TestTargetsWithTheSameProblemsShareABlock holds that one cause is told once, below all names.
func TestTargetsWithTheSameProblemsShareABlock(t *testing.T) {
	got := blocks([]summary{
		{heading: "a", lines: "  FAILED   x\n"}, {heading: "b", lines: "  FAILED   y\n"}, {heading: "ok"},
		{heading: "c", lines: "  FAILED   x\n"},
	})
	want := []string{"a\nc\n  FAILED   x\n", "b\n  FAILED   y\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTableFits holds which columns are left where there is little room, and that names keep their end.
func TestTableFits(t *testing.T) {
	rows := []row{
		{"llama-70b-pods/10.4.1.7", "vllm", "0.11.0", "exact", "100 in 1.56 s", "182,304,000", "ok"},
		{"llama-405b", "tgi", "3.3.6\x1b[31m", "about", "", "≤182,304,000", "unauthorized"},
	}
	for _, test := range []struct {
		width int
		cut   bool
		want  string // the last line
	}{
		{120, true, "llama-405b               tgi 3.3.6    about               –  ≤182,304,000  unauthorized\n"},
		{87, true, "llama-405b               tgi 3.3.6    about               –  ≤182,304,000  unauthorized\n"},
		{86, true, "llama-405b               tgi     about               –  ≤182,304,000  unauthorized\n"},
		{80, true, "llama-405b               about               –  ≤182,304,000  unauthorized\n"},
		{60, true, "llama-405b               about               –  unauthorized\n"},
		{59, true, "llama-405b               unauthorized\n"},
		{30, true, "llama-405b        unauthorized\n"},
		{30, false, "llama-405b               unauthorized\n"},
	} {
		lines := strings.SplitAfter(table(rows, test.width, test.cut), "\n")
		if lines[2] != test.want {
			t.Errorf("%d columns:\n%swant\n%s", test.width, lines[2], test.want)
		}
		for _, line := range lines {
			if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); test.cut && width > test.width {
				t.Errorf("%d columns: %d in %s", test.width, width, line)
			}
		}
	}
	got, _, _ := strings.Cut(strings.SplitAfter(table(rows, 30, true), "\n")[1], " ")
	if want := "llama-70…0.4.1.7"; got != want {
		t.Errorf("cut to %q, want %q", got, want)
	}
}

// TestCheckIsInterrupted holds that a check that somebody ends reports no failure of the target that it was at, nor of
// those after it, and says how many it checked. It is ended while the server of the second target is asked for its
// models, for its tokenizer, for a short answer and for a long one.
func TestCheckIsInterrupted(t *testing.T) {
	for _, test := range []struct {
		path string
		nth  int
	}{{"/v1/models", 1}, {"/tokenize", 1}, {"/v1/chat/completions", 1}, {"/v1/chat/completions", 2}} {
		for _, asTable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %d, table %t", test.path, test.nth, asTable), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loaded, err := config.Load(config.Options{
						Environ: map[string]string{"PROBER_PROMPT_TOKENS": "80", "PROBER_TIMESTAMPS": "user"},
						URLs:    []string{"http://fine", "http://second", "http://tgi"},
					})
					if err != nil {
						t.Fatal(err)
					}
					ctx, interrupt := context.WithCancel(t.Context())
					servers, asked := newFleet(t), 0
					second := servers["fine"]
					servers["second"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path == test.path {
							asked++
						}
						if r.URL.Path != test.path || asked != test.nth {
							second.ServeHTTP(w, r)
							return
						}
						interrupt()
						_, _ = io.Copy(io.Discard, r.Body)
						<-r.Context().Done()
					})
					c := Check{Table: asTable, Judge: countResults}
					text := runUntil(ctx, t, servers, loaded, &c)
					if !c.Interrupted || c.Passed || len(c.Targets) != 1 || !c.Targets[0].Passed {
						t.Errorf("interrupted %t, passed %t, %d targets", c.Interrupted, c.Passed, len(c.Targets))
					}
					if !strings.HasSuffix(text, "interrupted: 1 of 3 targets checked\n") {
						t.Error(text)
					}
					for _, wrong := range []string{"FAILED", "cancel", "warning", "no probe of full length", "http://tgi"} {
						if strings.Contains(text, wrong) {
							t.Errorf("%q in\n%s", wrong, text)
						}
					}
				})
			})
		}
	}
}
