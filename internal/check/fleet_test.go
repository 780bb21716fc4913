package check

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// newFleet returns simulated servers of which some have a fault.
func newFleet(t *testing.T, more ...string) *simnet.Network {
	t.Helper()
	servers := simnet.New(t, append(more, "fine", "busy", "slow", "limited")...)
	servers.Serve("tgi", "tgi")
	short, err := sim.ParseProfile("fast")
	if err != nil {
		t.Fatal(err)
	}
	short.MaxModelLen = 64
	servers.ServeProfile("short", short)
	servers.Fail("busy", sim.Fault{Status: 503})
	servers.Fail("slow", sim.Fault{TTFT: 60})
	servers.Fail("limited", sim.Fault{Status: 429})
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
		var table bytes.Buffer
		runOn(t.Context(), t, newFleet(t).Dial, loaded, Options{}).WriteTable(&table)
		golden.Equal(t, "testdata/fleet.golden", table.String())
	})
}

// TestTargetsWithTheSameProblemsShareABlock holds that one cause is told once, below all names.
func TestTargetsWithTheSameProblemsShareABlock(t *testing.T) {
	failed := func(text string) []problem { return []problem{{"FAILED", Finding{Step: Failed, Text: text}}} }
	got := blocks([]row{
		{heading: "a", problems: failed("x")}, {heading: "b", problems: failed("y")}, {heading: "ok"},
		{heading: "c", problems: failed("x")},
	}, 80)
	want := []string{"a\nc\n  FAILED   x\n", "b\n  FAILED   y\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTableFits holds that names are cut where there is little room, that they keep their end, and that a server's words
// do no harm to the terminal.
func TestTableFits(t *testing.T) {
	rows := []row{
		{
			name: "llama-70b-pods/10.4.1.7", server: "vllm 0.11.0", prompt: "exact", answer: "100 in 1.56 s",
			cost: "182,304,000", word: "ok",
		},
		{name: "llama-405b", server: "tgi 3.3.6\x1b[31m", prompt: "about", cost: "≤182,304,000", word: "unauthorized"},
	}
	for width, want := range map[int]string{
		math.MaxInt: `
target                   server       prompt         answer  tokens a day  verdict
llama-70b-pods/10.4.1.7  vllm 0.11.0  exact   100 in 1.56 s   182,304,000  ok
llama-405b               tgi 3.3.6    about               –  ≤182,304,000  unauthorized
`,
		80: `
target            server       prompt         answer  tokens a day  verdict
llama-70…0.4.1.7  vllm 0.11.0  exact   100 in 1.56 s   182,304,000  ok
llama-405b        tgi 3.3.6    about               –  ≤182,304,000  unauthorized
`,
		30: `
target    server       prompt         answer  tokens a day  verdict
llam…1.7  vllm 0.11.0  exact   100 in 1.56 s   182,304,000  ok
llam…05b  tgi 3.3.6    about               –  ≤182,304,000  unauthorized
`,
	} {
		got := "\n" + tableOf(rows, width)
		if got != want {
			t.Errorf("%d columns:%swant%s", width, got, want)
		}
	}
}

// TestAServerIsAskedByOneTargetAtATime holds what is checked side by side: four servers, but never two targets of one
// server. One that hangs does not hold up the others, and the lines come in the order of the targets.
func TestAServerIsAskedByOneTargetAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		urls := []string{"http://hangs", "a1=http://a", "a2=http://a"}
		for _, host := range []string{"b", "c", "d", "e"} {
			urls = append(urls, "http://"+host)
		}
		loaded, err := config.Load(config.Options{
			Environ: map[string]string{
				"PROBER_PROMPT_TOKENS": "80", "PROBER_TIMESTAMPS": "user", "PROBER_TIMEOUT": "2m", "PROBER_STALL_TIMEOUT": "2m",
			},
			URLs: urls,
		})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		asked := map[string]int{} // by host: requests under way
		most, mostServers := 0, 0
		server := newFleet(t).Simulator("fine")
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Nanosecond) // until the handler of an answer that has been read has returned as well
			mu.Lock()
			asked[r.Host]++
			most = max(most, asked[r.Host])
			mostServers = max(mostServers, len(asked))
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				asked[r.Host]--
				if asked[r.Host] == 0 {
					delete(asked, r.Host)
				}
			}()
			if r.Host == "hangs" && r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
				return
			}
			server.ServeHTTP(w, r)
		})
		began := time.Now()
		var lines bytes.Buffer
		r := runOn(t.Context(), t, memconn.Serve(t, handler).Dial, loaded, Options{Lines: &lines})
		if most != 1 || mostServers != 4 {
			t.Errorf("%d requests to one server and %d servers at the same time", most, mostServers)
		}
		if took := time.Since(began); took > 2*time.Minute+10*time.Second {
			t.Errorf("the check took %v", took)
		}
		var names, headings []string
		for _, target := range r.Targets {
			names = append(names, target.Name)
			if target.Passed == (target.URL == "http://hangs") {
				t.Errorf("%s: passed %t", target.URL, target.Passed)
			}
		}
		for line := range strings.Lines(lines.String()) {
			name, url, _ := strings.Cut(line, "  ")
			if strings.HasPrefix(url, "http") {
				headings = append(headings, name)
			}
		}
		want := []string{"hangs:80", "a1", "a2", "b:80", "c:80", "d:80", "e:80"}
		if diff := cmp.Diff(want, names) + cmp.Diff(want, headings); diff != "" {
			t.Error(diff)
		}
	})
}

// TestQueues holds that targets of one server, or of one job, are never in two queues, whatever connects them, and that
// the queue of an earlier target comes first. A target is written as JOB:SERVER.
func TestQueues(t *testing.T) {
	for targets, want := range map[string]string{
		"1:a 2:b 3:c":             "1:a | 2:b | 3:c",
		"1:a 2:b 3:a":             "1:a 3:a | 2:b",
		"1:a 2:b 2:c 3:d":         "1:a | 2:b 2:c | 3:d",
		"1:a 2:b 2:a 3:c":         "1:a 2:b 2:a | 3:c",
		"1:a 2:b 3:c 4:c 4:a 5:b": "1:a 3:c 4:c 4:a | 2:b 5:b",
	} {
		jobs := map[string]*engine.Job{}
		var checkers []*checker
		for i, name := range strings.Fields(targets) {
			job, server, _ := strings.Cut(name, ":")
			if jobs[job] == nil {
				jobs[job] = &engine.Job{}
			}
			checkers = append(checkers, &checker{
				turn: i, job: jobs[job], server: server, target: config.Target{Name: name},
			})
		}
		var got []string
		for _, queue := range queues(checkers) {
			var names []string
			for _, c := range queue {
				names = append(names, c.target.Name)
			}
			got = append(got, strings.Join(names, " "))
		}
		if diff := cmp.Diff(want, strings.Join(got, " | ")); diff != "" {
			t.Errorf("%s:\n%s", targets, diff)
		}
	}
}

// TestCheckIsInterrupted holds that a check that somebody ends reports no failure of the target that it was at, nor of
// the one that it did not come to, and says how many it checked. It is ended while the server of the second target is
// asked for its models, for its tokenizer, for a short answer and for a long one, when the first and the third target
// were checked beside it.
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
						URLs:    []string{"http://fine", "http://second", "http://third", "never=http://second"},
					})
					if err != nil {
						t.Fatal(err)
					}
					ctx, interrupt := context.WithCancel(t.Context())
					servers, asked := newFleet(t, "second", "third"), 0
					servers.Answer("second", func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path == test.path {
							asked++
						}
						if r.URL.Path != test.path || asked != test.nth {
							servers.Simulator("second").ServeHTTP(w, r)
							return
						}
						time.Sleep(3 * time.Second) // the others are checked meanwhile
						interrupt()
						_, _ = io.Copy(io.Discard, r.Body)
						<-r.Context().Done()
					})
					var out bytes.Buffer
					o := Options{Lines: &out}
					if asTable {
						o.Lines = nil
					}
					r := runOn(ctx, t, servers.Dial, loaded, o)
					if asTable {
						r.WriteTable(&out)
					}
					if !r.Interrupted || r.Passed || len(r.Targets) != 2 || !r.Targets[0].Passed || !r.Targets[1].Passed {
						t.Errorf("interrupted %t, passed %t, %d targets", r.Interrupted, r.Passed, len(r.Targets))
					}
					text := out.String()
					if !strings.HasSuffix(text, "interrupted: 2 of 4 targets checked\n") {
						t.Error(text)
					}
					for _, wrong := range []string{"FAILED", "cancel", "warning", "no probe of full length", "never"} {
						if strings.Contains(text, wrong) {
							t.Errorf("%q in\n%s", wrong, text)
						}
					}
				})
			})
		}
	}
}
