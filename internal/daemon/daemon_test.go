package daemon

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/sim"
)

// TestInstanceMeasuresTheTruth holds that what the simulator wrote down is what the metrics say.
func TestInstanceMeasuresTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a", "b"})
		time.Sleep(10 * time.Minute)
		for _, host := range []string{"a", "b"} {
			target := `target="` + host + `:80"`
			w.expectSlots(host+":80", "ok=60")
			w.expect("60", "llm_probe_ttft_seconds_count", target)
			w.expect("240", "llm_probe_itl_seconds_count", target)
			w.expect("300", "llm_probe_tokens_total", target, `kind="output"`)
			w.expect("4800", "llm_probe_tokens_total", target, `kind="prompt"`)
			sent := w.servers[host].Sent()
			var first time.Duration
			for _, s := range sent {
				first += s.Tokens[0].Sub(s.Start)
			}
			sum, err := time.ParseDuration(w.metric("llm_probe_ttft_seconds_sum", target) + "s")
			if err != nil || sum.Round(time.Microsecond) != first.Round(time.Microsecond) || len(sent) != 60 {
				t.Errorf("a TTFT of %v in all (%v), %s says %v of %d requests", sum, err, host, first, len(sent))
			}
		}
		w.expect("120", "llm_prober_schedule_delay_seconds_bucket", `le="0.0005"`)
		w.expectLogged(1, "status page")
	})
}

// TestInstanceCountsWhatAHangingServerCosts holds that a server that never answers is a timeout at its limit, and its
// slots are skipped and counted, while the other target is probed as before. Connections that are kept must not outlive
// the instance: their goroutines would fail the bubble.
func TestInstanceCountsWhatAHangingServerCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a", "b"}, "PROBER_TIMEOUT", "115s", "PROBER_CONNECTION", "reuse")
		time.Sleep(time.Minute)
		w.fault("a", sim.Fault{Hang: true})
		time.Sleep(time.Minute)
		if inFlight := w.metric("llm_probe_oldest_in_flight_seconds", `target="a:80"`); inFlight < "4" || inFlight > "6" {
			t.Errorf("oldest in flight for %s s after a minute", inFlight)
		}
		time.Sleep(9 * time.Minute)
		w.expectSlots("a:80", "ok=6 timeout=5 overlap=55")
		w.expectSlots("b:80", "ok=66")
		w.expect("575", "llm_probe_failed_seconds_sum", `target="a:80"`, `outcome="timeout"`)
		w.expect("6", "llm_probe_ttft_seconds_count", `target="a:80"`)
	})
}

// TestInstanceStopsDuringAProbe holds that nothing is left behind: a probe that ends within the drain is counted, one
// that does not is not, and /metrics answers all the while. A goroutine that is left fails the bubble.
func TestInstanceStopsDuringAProbe(t *testing.T) {
	for drain, counted := range map[time.Duration]int{5 * time.Second: 1, time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, &Daemon{Drain: drain}, []string{"a"}, "PROBER_MAX_TOKENS", "4000")
			w.awaitProbe("a:80")
			time.Sleep(500 * time.Millisecond)
			w.stop()
			synctest.Wait()
			stopped := time.Now()
			w.expect("1", "llm_probe_in_flight", `target="a:80"`)
			w.expectReady("not Ready")
			time.Sleep(drain / 2) // the probe takes four seconds, and is still under way
			w.expectSlots("a:80", "")
			w.end()
			if took := time.Since(stopped); took > drain {
				t.Errorf("drain of %v: took %v", drain, took)
			}
			w.expectLogged(counted, "probe")
		})
	}
}

// TestInstanceHidesSecrets holds that neither a page nor the log shows a key, also when it is refused.
func TestInstanceHidesSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_API_KEY", "sk-verysecret", "PROBER_QPS", "1")
		time.Sleep(5 * time.Second)
		w.fault("a", sim.Fault{Status: 401})
		time.Sleep(5 * time.Second)
		for _, path := range []string{"/", "/metrics", "/api/v1/results", "/api/v1/targets"} {
			body := w.get(path)
			if strings.Contains(body, "verysecret") {
				t.Errorf("%s shows the key", path)
			}
			if regexp.MustCompile(`(time|people|year) (man|woman|life|way) `).MatchString(body) {
				t.Errorf("%s shows the prompt", path)
			}
		}
		for _, entry := range w.logs.All() {
			if strings.Contains(fmt.Sprint(entry.Message, entry.ContextMap()), "verysecret") {
				t.Errorf("the log entry %q shows the key", entry.Message)
			}
		}
	})
}

// TestRunWarnsOfPromptsThatDoNotFit holds that a target whose prompts do not fit its server's context is warned of
// once, in the log and on the page, and is asked what was configured all the same.
func TestRunWarnsOfPromptsThatDoNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_PROMPT_TOKENS", "200000",
			"PROBER_MAX_TOKENS_PER_DAY", "none")
		time.Sleep(time.Minute)
		w.expectLogged(1, "a prompt of 200,000 tokens and an answer of 5 do not fit the server's context of 131,072: "+
			"--prompt-tokens 131067 is the longest that fits (PROBER_PROMPT_TOKENS)")
		w.expectPage("/api/v1/targets", "131,072", true)
		w.expectSlots("a:80", "rejected=6")
	})
}
