package engine

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/exposition"
)

// A holding is what a runner holds.
type holding struct {
	Connections  int // that are open
	Goroutines   int // beside those that ran before the first probe
	Jobs, Ending int
	Budgets      int
	Series       int // targets on /metrics
}

// goroutines returns how many goroutines of the bubble wait for something: not those of the runtime, such as for
// finalizers, and not one that has ended and has not quite gone.
func goroutines() int {
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("(durable), synctest bubble"))
}

// holds returns what the runner holds now. The goroutines are counted from a number on.
func (d *diary) holds(before int) holding {
	waiting := goroutines()
	r := d.runner
	series := len(exposition.Slots(d.metrics()))
	r.mu.Lock()
	defer r.mu.Unlock()
	return holding{
		Connections: d.servers.Open(), Goroutines: waiting - before, Jobs: len(r.jobs), Ending: len(r.ending),
		Budgets: len(r.budgets), Series: series,
	}
}

// expectHolding expects what the runner holds.
func (d *diary) expectHolding(when string, before int, want holding) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.holds(before)); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// TestARunnerHoldsNoMoreThanItNeeds holds that nothing grows while a prober runs for months: with every reload that
// changes the target and its data set, with every day that gives the replica of a name another address. Nothing is left
// after Stop. The connection is one that is reused.
func TestARunnerHoldsNoMoreThanItNeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	const interval = 100 * time.Second // shorter than a connection is kept idle
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		before := goroutines()
		set := filepath.Join(t.TempDir(), "set.jsonl")
		var want holding
		for n := range 100 {
			writeFile(t, set, fmt.Sprintf(`{"prompt": "the data set number %d"}`, n))
			d.apply("", "QPS=0.01", "CONNECTION=reuse", "TARGETS_0_URL=http://a", fmt.Sprintf("TIMEOUT=%ds", 10+n%2),
				"PROMPT=dataset", "DATASET_FILE="+set)
			time.Sleep(interval + time.Second)
			if n == 0 {
				want = d.holds(before)
			}
			d.expectHolding(fmt.Sprintf("after reload %d", n), before, want)
		}
		if want.Goroutines < 1 || want.Connections != 1 || want.Jobs != 1 || want.Budgets != 1 || want.Series != 1 {
			t.Errorf("one target is probed, and the runner holds %+v", want)
		}

		// The tokens of a replica count until the end of its day.
		for n := range 3 {
			if n > 0 {
				time.Sleep(24 * time.Hour)
			}
			d.names.Set(fmt.Sprint("10.0.0.", n+1))
			if n == 0 {
				d.apply("", "QPS=0.01", "CONNECTION=reuse", "TARGETS_0_URL=dns+http://a")
			}
			for range droppedAfter {
				d.runner.LookUp(t.Context())
			}
			time.Sleep(interval + time.Second)
			want.Budgets = 2
			d.expectHolding(fmt.Sprintf("with address %d", n), before, want)
		}

		d.runner.Stop(time.Minute)
		time.Sleep(time.Second) // for the server's ends of the connections
		left := d.holds(before)
		if left.Connections != 0 || left.Goroutines > 0 {
			t.Errorf("after the end: %+v", left)
		}
	})
}

// TestDataSetsAcrossReloads holds that a target begins anew when the content of its data set changes, and only then,
// and that a data set which stays the same is in memory once, whatever else changes.
func TestDataSetsAcrossReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		set := filepath.Join(t.TempDir(), "set.jsonl")
		var before *Job
		for _, step := range []struct {
			content, timeout string
			sameJob, sameSet bool
		}{
			{"the first set", "7s", false, false},
			{"the first set", "7s", true, true},
			{"the first set", "8s", false, true},
			{"the second set", "8s", false, false},
		} {
			writeFile(t, set, fmt.Sprintf(`{"prompt": %q}`, step.content))
			d.apply("", "TARGETS_0_URL=http://a", "PROMPT=dataset", "DATASET_FILE="+set, "TIMEOUT="+step.timeout)
			now := d.runner.jobs[0]
			sameSet := before != nil && &now.Length.Prompts[0].Prompts.Dataset[0] == &before.Length.Prompts[0].Prompts.Dataset[0]
			if sameSet != step.sameSet || (now == before) != step.sameJob {
				t.Errorf("%+v: same job %v, same data set %v", step, now == before, sameSet)
			}
			before = now
		}
	})
}

// writeFile writes a file.
func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheLastResultBeforeAReload holds that a probe which a reload finds in flight is counted, on /metrics and on the
// page, only if the target as it is now would ask the same.
func TestTheLastResultBeforeAReload(t *testing.T) {
	for setting, want := range map[string]int{
		"QPS=0.2": 1, "TIMEOUT=99s": 1, "LABELS=team=search": 1, "TOKEN_BUDGET_PER_DAY=1000000": 1, "MAX_IN_FLIGHT=2": 1,
		"TARGETS_0_ENABLED=off": 1,
		"MAX_TOKENS=3999":       0, "PROMPT_TOKENS=81": 0, "PROMPT=warm": 0, "CONNECTION=reuse": 0, "TARGETS_0_URL=http://b": 0,
		"DATASET_FILE=testdata/prompts.jsonl": 0, "TARGETS_0_MODEL=m": 0,
	} {
		t.Run(setting, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDiary(t)
				before := []string{"TARGETS_0_NAME=x", "TARGETS_0_URL=http://a", "MAX_TOKENS=4000"} // four seconds
				changed := []string{setting}
				if strings.HasPrefix(setting, "DATASET_FILE") {
					set := filepath.Join(t.TempDir(), "set.jsonl")
					writeFile(t, set, `{"prompt": "the set before"}`)
					before = append(before, "PROMPT=dataset", "DATASET_FILE="+set)
				}
				d.apply("", before...)
				for inFlight := 0; inFlight == 0; {
					time.Sleep(time.Second)
					inFlight, _ = d.runner.jobs[0].Members[0].InFlight(d.runner.jobs[0].Targets[0].Prompts[0].Name)
				}
				d.apply("", append(before, changed...)...)
				d.runner.SetDraining(true) // nothing but the probe in flight
				d.runner.mu.Lock()
				for _, j := range d.runner.ending {
					if !j.Members[0].Draining.Load() {
						t.Error("the probe in flight is not part of the drain")
					}
				}
				d.runner.mu.Unlock()
				time.Sleep(time.Minute)
				slots := exposition.Slots(d.metrics())["x"]
				shown := strings.Count(d.page("/api/v1/results"), `"outcome"`)
				counted := strings.Contains(slots, "ok=1")
				if shown != want || counted != (want > 0) {
					t.Errorf("%d results on the page, want %d; slots: %s", shown, want, slots)
				}
			})
		})
	}
}

// TestLookupsRestDuringADrain holds that the addresses stay as they are while nothing is probed.
func TestLookupsRestDuringADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		d.names.Set("10.0.0.1")
		d.apply("", "TARGETS_0_URL=dns+http://a")
		before := d.names.Lookups()
		d.runner.SetDraining(true)
		d.names.Set("10.0.0.2")
		d.runner.LookUp(t.Context())
		if d.names.Lookups() != before || d.runner.present.targets[0].Address != "10.0.0.1" {
			t.Errorf("%d lookups before the drain, %d after; now probed: %s",
				before, d.names.Lookups(), d.runner.present.targets[0].Address)
		}
		d.runner.SetDraining(false)
		d.runner.LookUp(t.Context())
		if targets := d.runner.present.targets; len(targets) != 2 || targets[1].Address != "10.0.0.2" {
			t.Errorf("after the drain %+v are probed", targets)
		}
	})
}

// TestCountsAtOnce holds how many groups have their prompts counted at the same time before their first slots: servers
// that hang hold up the others for half a minute.
func TestCountsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		d.servers.Answer("a/v1/models", hang)
		var targets []string
		for n := range 33 {
			targets = append(targets, fmt.Sprintf("TARGETS_%d_NAME=%d", n, n), fmt.Sprintf("TARGETS_%d_URL=http://a", n))
		}
		d.apply("", append(targets, "QPS=0.001", "MAX_TOKENS_PER_DAY=none")...)
		asked := func() int { return d.servers.Requests()["a/v1/models"] }
		time.Sleep(time.Second)
		if got := asked(); got != 32 {
			t.Errorf("%d servers have been asked at once, want 32", got)
		}
		time.Sleep(countWait)
		if got := asked(); got <= 32 {
			t.Error("the last one waits for those that hang")
		}
	})
}

// TestProbesAtOnce holds how many probes of a target are in flight while its server hangs.
func TestProbesAtOnce(t *testing.T) {
	for _, want := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			d := newDiary(t)
			d.servers.Answer("a/v1/chat/completions", hang)
			d.apply("", "TARGETS_0_URL=http://a", fmt.Sprint("MAX_IN_FLIGHT=", want))
			time.Sleep(time.Minute)
			if got, _ := d.runner.jobs[0].Members[0].InFlight(d.runner.jobs[0].Targets[0].Prompts[0].Name); got != want {
				t.Errorf("%d probes are in flight, want %d", got, want)
			}
		})
	}
}

// TestAReplicaThatLeavesIsNoOutage holds that probes of an address which the last lookup lacked do not count once its
// server has ended, and that the next lookup then drops it. If lookups have it again, its failures count.
func TestAReplicaThatLeavesIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		const stays, leaves = "10.0.0.1", "10.0.0.2"
		slots := func() string {
			time.Sleep(time.Minute)
			return exposition.Slots(d.metrics())["x/"+leaves]
		}
		d.names.Set(stays, leaves)
		d.apply("", "TARGETS_0_NAME=x", "TARGETS_0_URL=dns+http://a")
		for _, step := range []struct {
			addresses []string // that a lookup finds first
			down      bool
			want      string
		}{
			{[]string{stays, leaves}, false, "ok=6"},
			{[]string{stays}, false, "ok=12"},
			{[]string{stays, leaves}, true, "connect=6 ok=12"},
			{[]string{stays, leaves}, false, "connect=6 ok=18"},
			{[]string{stays}, true, "connect=6 ok=18"},
			{[]string{stays}, true, ""},
		} {
			d.names.Set(step.addresses...)
			d.runner.LookUp(t.Context())
			d.servers.Up(leaves)
			if step.down {
				d.servers.Down(leaves)
			}
			if got := slots(); got != step.want {
				t.Errorf("%+v: slots %s", step, got)
			}
		}
		requests := d.servers.Requests()
		if counts := requests[stays+"/tokenize"] + requests[leaves+"/tokenize"]; counts != 3 {
			t.Errorf("the prompts of one name are calibrated with %d requests, want the 3 for the first address", counts)
		}
	})
}

// TestABudgetOutlastsItsTarget holds that a target which is left out and comes back on the same day does not spend the
// tokens of that day twice.
func TestABudgetOutlastsItsTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		limited := []string{"TARGETS_0_URL=http://a", "TARGETS_0_TOKEN_BUDGET_PER_DAY=850"} // ten probes
		for _, step := range []struct {
			variables []string
			want      string
		}{{limited, "ok=10 budget=2"}, {[]string{"TARGETS_0_URL=http://b"}, ""}, {limited, "budget=12"}} {
			d.apply("", step.variables...)
			time.Sleep(2 * time.Minute)
			if got := exposition.Slots(d.metrics())["a:80"]; got != step.want {
				t.Errorf("with %v the slots of a are %q, want %q", step.variables, got, step.want)
			}
		}
	})
}

// TestAConfigurationThatCannotBeRunChangesNothing holds that the addresses of the configuration in force stay known: a
// name server that fails afterwards does not end its targets.
func TestAConfigurationThatCannotBeRunChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		d.names.Set("10.0.0.1")
		d.apply("", "TARGETS_0_URL=dns+http://a")
		wrong := load(t, "TARGETS_0_URL=http://b")
		wrong.Targets[0].API = "carrier-pigeon"
		if d.runner.Apply(t.Context(), wrong, d.files.Next()) == nil {
			t.Fatal("a target with an unknown API is probed")
		}
		d.names.Fail()
		d.runner.LookUp(t.Context())
		if got := d.runner.present.targets; len(got) != 1 || got[0].Address != "10.0.0.1" {
			t.Errorf("the targets are %+v", got)
		}
	})
}

// TestAChangedTargetInheritsFromItself holds that of two targets which ask the same server, each goes on after a reload
// with what it learned itself: here that the server asked one of them for a pause.
func TestAChangedTargetInheritsFromItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		d.servers.AnswerOnce("a/v1/chat/completions", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		})
		both := []string{
			"TARGETS_0_NAME=x", "TARGETS_0_URL=http://a", "TARGETS_1_NAME=y", "TARGETS_1_URL=http://a", "BACKOFF_LIMIT=1h",
		}
		paused := func() map[string]bool {
			are := map[string]bool{}
			for _, j := range d.runner.jobs {
				are[j.Members[0].Name()] = j.Members[0].Skipping() == probe.SkipBackoff
			}
			return are
		}
		d.apply("", both...)
		time.Sleep(time.Minute)
		want := paused()
		if want["x"] == want["y"] {
			t.Fatalf("paused: %v; want one of them to be", want)
		}
		d.apply("", append(both, "TIMEOUT=7s")...)
		if diff := cmp.Diff(want, paused()); diff != "" {
			t.Errorf("paused after a reload (-before +after):\n%s", diff)
		}
	})
}

// TestARotatedKeyMakesNoOtherServer holds that what is known of a server survives that a target asks it with another
// key or another credential in a header: a field that it rejects is not sent again, and the prompts are not counted
// again. Only its models are asked for once more, and a pause that it asked the former client for is over. With another
// destination all is asked anew.
func TestARotatedKeyMakesNoOtherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		rejections, isBusy := 0, false
		d.servers.Answer("a/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case strings.Contains(string(body), "cache_salt"):
				rejections++
				w.WriteHeader(http.StatusUnprocessableEntity)
				fmt.Fprint(w, `{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt')}]"}`)
			case isBusy:
				w.Header().Set("Retry-After", "3600")
				http.Error(w, "too many requests", http.StatusTooManyRequests)
			default:
				r.Body = io.NopCloser(bytes.NewReader(body))
				d.servers.Simulator("a").ServeHTTP(w, r)
			}
		})
		type state struct {
			rejections, lists, counts int
			paused                    bool
		}
		look := func() (s state) {
			time.Sleep(time.Minute)
			synctest.Wait()
			requests := d.servers.Requests()
			s = state{
				rejections: rejections, lists: requests["a/v1/models"], counts: requests["a/tokenize"],
				paused: d.runner.jobs[0].Members[0].Skipping() == probe.SkipBackoff,
			}
			return s
		}
		config := []string{"TARGETS_0_URL=http://a", "BACKOFF_LIMIT=1h"}
		for _, step := range []struct {
			what, setting string
			isBusy        bool
			want          state
		}{
			{"at first", "API_KEY=one", true, state{rejections: 1, lists: 1, counts: 3, paused: true}},
			{"another timeout", "TIMEOUT=50s", false, state{rejections: 1, lists: 1, counts: 3, paused: true}},
			{"another key", "API_KEY=two", false, state{rejections: 1, lists: 2, counts: 3}},
			{"a credential in a header", "TARGETS_0_HEADERS=Authorization=Basic YTpi", false, state{rejections: 1, lists: 3, counts: 3}},
			{"another header", "TARGETS_0_HEADERS=X-Cluster=b", false, state{rejections: 2, lists: 4, counts: 6}},
		} {
			isBusy = step.isBusy
			config = append(config, step.setting)
			d.apply(step.what, config...)
			if diff := cmp.Diff(step.want, look(), cmp.AllowUnexported(state{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.what, diff)
			}
		}
	})
}
