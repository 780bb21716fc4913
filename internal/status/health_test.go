package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// healthAt returns the answer about a target's health, with the time since when in seconds after a start.
func healthAt(t *testing.T, b *Board, target string, start time.Time) string {
	t.Helper()
	w := get(t, b, "/api/v1/targets/"+target+"/health")
	var j healthJSON
	if err := json.Unmarshal(w.Body.Bytes(), &j); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	text := fmt.Sprintf("%d %s since %v", w.Code, j.Status, j.Since.Sub(start).Seconds())
	if j.Reason != nil {
		text += ": " + *j.Reason
	}
	return text
}

// TestHealthOfATarget holds when a target becomes down and up, just on both sides of each limit. A probe is due every
// 10 s and takes 130 ms, so that a target may be without an answer for 50.26 s, and is down a minute later.
func TestHealthOfATarget(t *testing.T) {
	const ten = 10 * time.Second
	refusals := []probe.Objective{{Signal: probe.SignalAvailability, Goal: 0.9, RefusalsAreBad: true}}
	for _, test := range []struct {
		name       string
		interval   time.Duration
		results    string
		wait       time.Duration // after them
		objectives []probe.Objective
		want       string
	}{
		{"nothing yet", ten, "", 0, nil, "503 unknown since 0: no probe has ended yet"},
		{"two failures at first", ten, "2x", 0, nil, "503 unknown since 0: 2 of 3 probes, and no success yet: HTTP 503"},
		{"three", ten, "3x", 0, nil, "503 down since 30: no answer since the prober began to watch it: HTTP 503"},
		{"a success among the first three", ten, "2x u", 0, nil, "200 up since 30"},
		{"a failure after a success", ten, "u x", 0, nil,
			"200 up since 10: failing, with the last answer at 00:00:10 UTC: HTTP 503"},
		{"just before the limit", ten, "u 11x", 259 * ms, nil,
			"200 up since 10: failing, with the last answer at 00:00:10 UTC: HTTP 503"},
		{"at the limit", ten, "u 11x", 260 * ms, nil, "503 down since 120.26: no answer since 00:00:10 UTC: HTTP 503"},
		{"two answers after it", ten, "u 12x 2u", 0, nil, "503 down since 120.26: 2 of 3 answers in a row after it was down"},
		{"three answers after it", ten, "u 12x 3u", 0, nil, "200 up since 160"},
		{"three that are not in a row", ten, "u 12x 2u x 2u", 0, nil,
			"503 down since 120.26: 2 of 3 answers in a row after it was down"},
		{"a failure among them", ten, "u 12x 2u x", 0, nil, "503 down since 120.26: no answer since 00:02:30 UTC: HTTP 503"},
		{"single failures", ten, "u 30x u", 0, nil, "503 down since 120.26: 1 of 3 answers in a row after it was down"},
		{"every other one fails", ten, "u x u x u x u x u x u x u x u x u x u", 0, nil, "200 up since 10"},
		{"wrong answers", ten, "u 12w", 0, nil, "503 down since 120.26: no answer since 00:00:10 UTC: wrong"},
		{"slow answers", ten, "20u 20t", 0, nil, "200 up since 10"},

		{"refused", ten, "u 20r", 0, nil,
			"200 up since 10: the server answers, and refuses the probes (unauthorized): HTTP 401"},
		{"refused twice at first", ten, "2r", 0, nil, "503 unknown since 0: 2 of 3 probes, and no success yet: HTTP 401"},
		{"refused from the start", ten, "3r", 0, nil,
			"200 up since 10: the server answers, and refuses the probes (unauthorized): HTTP 401"},
		{"refusals that are bad", ten, "u 12r", 0, refusals, "503 down since 120.26: no answer since 00:00:10 UTC: HTTP 401"},

		{"no probe for a while", ten, "2u", 110*time.Second + 260*ms, nil, "200 up since 10"},
		{"and for longer", ten, "2u", 110*time.Second + 261*ms, nil,
			"503 unknown since 130.26: no probe has ended for 1 min: the prober stands still"},
		{"it begins anew", ten, "u 12x", 200 * time.Second, nil,
			"503 unknown since 240.26: no probe has ended for 3 min: the prober stands still"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				b := newTestBoard()
				b.Set(probe.Description{Name: "a", Prompt: "cold", Interval: test.interval, Objectives: test.objectives})
				replay(b, test.interval, test.results)
				time.Sleep(test.wait)
				equal(t, "health", healthAt(t, b, "a", start), test.want)
			})
		})
	}
}

// TestHealthOfATargetThatIsSeldomProbed holds that one failure is enough if probes are more than an hour apart. It must
// have come after half of the time that there may be no answer.
func TestHealthOfATargetThatIsSeldomProbed(t *testing.T) {
	for _, test := range []struct {
		interval time.Duration
		failedAt time.Duration // in intervals after the success
		want     int
	}{
		{time.Hour, 3, 200},
		{time.Hour + time.Second, 3, 503},
		{time.Hour + time.Second, 2, 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBoard()
			b.Set(probe.Description{Name: "a", Prompt: "cold", Interval: test.interval})
			b.Record(success("a", 130*ms))
			time.Sleep(test.failedAt * test.interval)
			b.Record(broken("a", probe.Overloaded, "HTTP 503"))
			time.Sleep((5-test.failedAt)*test.interval + time.Minute + 260*ms)
			equal(t, fmt.Sprint(test), get(t, b, "/api/v1/targets/a/health").Code, test.want)
		})
	}
}

// TestHealthAfterATimeWithoutProbes holds that what was found before it is forgotten: that a target was up, and that it
// was down.
func TestHealthAfterATimeWithoutProbes(t *testing.T) {
	for results, want := range map[string]string{
		"20u": "503 unknown since 0: 1 of 3 probes, and no success yet: HTTP 503",
		"20x": "503 unknown since 0: 1 of 3 probes, and no success yet: HTTP 503",
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			b := newTestBoard("a")
			replay(b, 10*time.Second, results)
			time.Sleep(time.Hour)
			replay(b, 10*time.Second, "x")
			equal(t, "a failure after "+results, healthAt(t, b, "a", start), want)
			replay(b, 10*time.Second, "u")
			equal(t, "and a success", healthAt(t, b, "a", start), "200 up since 3820")
		})
	}
}

// TestHealthOfAHangingTarget holds that a probe in flight counts once it has taken as long as in ProberTargetDown, and
// that slots which it blocks are failures only beside others.
func TestHealthOfAHangingTarget(t *testing.T) {
	for _, test := range []struct {
		results  string
		inFlight time.Duration
		want     string
	}{
		{"", 2*time.Minute - 1, "503 unknown since 0: no probe has ended yet"},
		{"", 2 * time.Minute, "503 down since 120: no answer since the prober began to watch it"},
		{"2u", 2*50*time.Second + 2*260*ms + time.Minute - 1, "200 up since 10"},
		{"2u", 2*50*time.Second + 2*260*ms + time.Minute, "503 down since 180.52: no answer since 00:00:20 UTC"},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			b := newTestBoard("a")
			replay(b, 10*time.Second, test.results)
			began := time.Now()
			b.Set(probe.Description{Name: "a", Prompt: "cold", Interval: 10 * time.Second, InFlight: func() (int, time.Time) {
				return 1, began
			}})
			time.Sleep(test.inFlight)
			equal(t, test.results, healthAt(t, b, "a", start), test.want)
		})
	}

	for _, test := range []struct{ how, want string }{
		{"u", "503 down since 180.52: 1 of 3 answers in a row after it was down"},
		{"x", "503 down since 180.52: no answer since 00:00:20 UTC: HTTP 503"},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			b := newTestBoard("a")
			replay(b, 10*time.Second, "2u")
			r := answers('u')
			if test.how == "x" {
				r = broken("a", probe.Timeout, "HTTP 503")
			}
			for range 18 {
				time.Sleep(10 * time.Second)
				b.Skipped("a", "cold", "overlap")
			}
			b.Record(r)
			equal(t, "a hanging probe that ended as "+test.how, healthAt(t, b, "a", start), test.want)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := newTestBoard("a")
		replay(b, 10*time.Second, "u 4x")
		for _, reason := range []string{"overlap", "overlap", "late"} {
			b.Skipped("a", "cold", reason)
		}
		time.Sleep(70*time.Second + 260*ms)
		equal(t, "four failures", healthAt(t, b, "a", start), "503 down since 120.26: no answer since 00:00:10 UTC: HTTP 503")
		time.Sleep(time.Minute)
		equal(t, "no more", healthAt(t, b, "a", start),
			"503 unknown since 160.26: no probe has ended for 2 min: slots are skipped (late)")
	})
}

// TestHealthOfSeveralPrompts holds that a target is down only if all of its prompts are, and names them. Its state is
// the most urgent of theirs.
func TestHealthOfSeveralPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := newTestBoard("short", "long")
		judge := func() string {
			prompts := append(b.healthCopies("short"), b.healthCopies("long")...)
			prompts[0].target.Prompt, prompts[1].target.Prompt = "short", "long"
			j, state := targetHealth(prompts, time.Now())
			return fmt.Sprintf("%s since %v, %s: %s", j.verdict, j.since.Sub(start).Seconds(), state, j.reason)
		}
		record := func(times int, isShortUp, isLongUp bool) {
			for range times {
				time.Sleep(10 * time.Second)
				for prompt, isUp := range map[string]bool{"short": isShortUp, "long": isLongUp} {
					if isUp {
						b.Record(success(prompt, 100*ms, 130*ms))
					} else {
						b.Record(broken(prompt, probe.Overloaded, "HTTP 503"))
					}
				}
			}
		}
		const neverLong = "prompt long down: no answer since the prober began to watch it: HTTP 503"
		record(2, false, false)
		equal(t, "neither is known", judge(), "unknown since 0, failing: "+
			"prompt short unknown: 2 of 3 probes, and no success yet: HTTP 503; "+
			"prompt long unknown: 2 of 3 probes, and no success yet: HTTP 503")
		record(10, true, false)
		equal(t, "one is down", judge(), "up since 30, failing: "+neverLong)
		record(12, false, false)
		equal(t, "both are down", judge(), "down since 230.26, failing: prompt short down: no answer since "+
			"00:02:00 UTC: HTTP 503; "+neverLong)
		record(3, false, true)
		equal(t, "the other one is up", judge(), "up since 270, failing: "+
			"prompt short down: no answer since 00:02:00 UTC: HTTP 503")
		record(3, true, true)
		equal(t, "both are up", judge(), "up since 270, ok: ")
	})
}

// TestHealthOfATargetThatIsNotProbed holds what is said of it by the configuration, and that another server, or another
// question, is judged by its own results.
func TestHealthOfATargetThatIsNotProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := newTestBoard("a")
		replay(b, 10*time.Second, "2u")
		b.Set(probe.Description{Name: "a", Prompt: "cold", Disabled: true})
		equal(t, "disabled", healthAt(t, b, "a", start), "200 disabled since 20: not probed, because its settings say so")
		b.RejectTarget("a", nil, usage.Problems{{Place: "f.yaml:7", Text: "is wrong"}})
		equal(t, "rejected", healthAt(t, b, "a", start),
			"503 unknown since 20: not probed, because its settings are wrong: f.yaml:7: is wrong")
		b.Set(probe.Description{Name: "a", Prompt: "cold", Interval: 10 * time.Second})
		equal(t, "probed again", healthAt(t, b, "a", start), "200 up since 10")
		b.Set(probe.Description{Name: "a", Prompt: "cold", Interval: 10 * time.Second, URL: "http://other"})
		equal(t, "another server", healthAt(t, b, "a", start), "503 unknown since 0: no probe has ended yet")
	})
}

// TestHealthByName holds which names a path finds, what it says of others, and how the answer looks.
func TestHealthByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBoard("a", "team/chat", "http://vllm:8000/v1", "ü 100%")
		for path, code := range map[string]int{
			"a/health":                               503,
			"team/chat/health":                       503,
			"team%2Fchat/health":                     503,
			"http:%2F%2Fvllm:8000%2Fv1/health":       503,
			"%C3%BC%20100%25/health":                 503,
			"b/health":                               404,
			"a":                                      404,
			"a/health/":                              404,
			"/health":                                307, // net/http cleans the path
			"team/health":                            404,
			"http%3A%2F%2Fvllm%3A8000%2Fv1%2Fhealth": 503,
		} {
			equal(t, path, get(t, b, "/api/v1/targets/"+path).Code, code)
		}
		equal(t, "body", get(t, b, "/api/v1/targets/a/health").Body.String(), `{"status":"unknown","target":"a",`+
			`"state":"waiting","reason":"no probe has ended yet","since":"2000-01-01T00:00:00Z"}`+"\n")
		equal(t, "body of an unknown target", get(t, newTestBoard("a", "b"), "/api/v1/targets/c/health").Body.String(),
			`{"error":"no target \"c\": want one of a, b","errorType":"not_found","status":"error"}`+"\n")
		b.Record(success("a", ms))
		equal(t, "HEAD", request(t, b, http.MethodHead, "/api/v1/targets/a/health").Code, 200)
		equal(t, "body of a target that is up", get(t, b, "/api/v1/targets/a/health").Body.String(),
			`{"status":"up","target":"a","state":"ok","reason":null,"since":"2000-01-01T00:00:00Z"}`+"\n")
	})
}

// TestHealthHasTheNumbersOfTheAlert holds that a load balancer and ProberTargetDown agree.
func TestHealthHasTheNumbersOfTheAlert(t *testing.T) {
	text, err := os.ReadFile("../../alerts/template/targets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := string(text)
	limit := between(rules, "- record: target:llm_probe_silence_seconds:limit", "- record:")
	down := between(rules, "- record: target:llm_probe_silence_seconds:down", "- record:")
	alert := between(rules, "- alert: ProberTargetDown\n", "annotations:")
	for _, want := range []struct{ rule, part string }{
		{limit, fmt.Sprintf("%d * max by [[series]] (llm_probe_interval_seconds)", silentIntervals)},
		{limit, fmt.Sprintf("(%d * last_over_time(target:llm_probe_e2el_seconds:p50_1h[1d])", silentAnswers)},
		{down, "> 0.5 * target:llm_probe_silence_seconds:limit"},
		{down, fmt.Sprintf(") > %.1f", downFailures-0.5)},
		{down, fmt.Sprintf("max by [[series]] (llm_probe_interval_seconds) > %.0f", rareInterval.Seconds())},
		{down, "(llm_probe_oldest_in_flight_seconds) > 2 * target:llm_probe_silence_seconds:limit"},
		{down, fmt.Sprintf("(llm_probe_probes_total) >= %d", downFailures)},
		{down, fmt.Sprintf("clamp_min(target:llm_probe_silence_seconds:limit, %.0f)", firstAnswer.Seconds())},
		{alert, fmt.Sprintf("for: %.0fm\n", downFor.Minutes())},
	} {
		if !strings.Contains(want.rule, want.part) {
			t.Errorf("the rules do not have %q: change health.go with them", want.part)
		}
	}
}

// TestHealthIsCheap holds that an answer takes as much memory with a full history as with one result.
func TestHealthIsCheap(t *testing.T) {
	allocations := func(results int) float64 {
		b := newTestBoard("a")
		for range results {
			b.Record(success("a", ms))
		}
		return testing.AllocsPerRun(100, func() {
			targetHealth(b.healthCopies("a"), time.Now())
		})
	}
	equal(t, "allocations", allocations(ringSize), allocations(1))
}
