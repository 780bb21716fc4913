package daemon

import (
	"fmt"
	"math"
	"net"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// TestInstanceMeasuresTheTruth holds that the metrics say what the simulator wrote down.
func TestInstanceMeasuresTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a", "b")
		prober := start(t, servers, &Daemon{})
		time.Sleep(10 * time.Minute)
		for _, host := range []string{"a", "b"} {
			target := `target="` + host + `:80"`
			prober.expectSlots(host+":80", "ok=60")
			prober.expectMetrics(map[string]float64{
				"llm_probe_ttft_seconds_count{" + target + "}":            60,
				"llm_probe_itl_seconds_count{" + target + "}":             240,
				"llm_probe_tokens_total{" + target + `,kind="output"}`:    300,
				"llm_probe_tokens_total{" + target + `,kind="prompt"}`:    4800,
				"llm_prober_schedule_delay_seconds_bucket{le=\"0.0005\"}": 120,
			})
			var first time.Duration
			for _, answer := range servers.Simulator(host).Sent() {
				first += answer.Tokens[0].Sub(answer.Start)
			}
			sum, _ := prober.metric("llm_probe_ttft_seconds_sum{" + target + "}")
			if diff := sum - first.Seconds(); math.Abs(diff) > 1e-6 {
				t.Errorf("%s: TTFT is %v in all, and was %v", host, sum, first)
			}
		}
		prober.expectLogged(1, "status page")
	})
}

// TestInstanceCountsWhatAHangingServerCosts holds that a server that never answers is a timeout at its limit, and its
// slots are skipped and counted, while the other target is probed as before.
func TestInstanceCountsWhatAHangingServerCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a", "b")
		prober := start(t, servers, &Daemon{}, "PROBER_TIMEOUT", "115s", "PROBER_CONNECTION", "reuse")
		time.Sleep(time.Minute)
		servers.Fail("a", sim.Fault{Hang: true})
		time.Sleep(time.Minute)
		oldest, _ := prober.metric(`llm_probe_oldest_in_flight_seconds{target="a:80"}`)
		if oldest < 50 || oldest > 60 {
			t.Errorf("the oldest probe is in flight for %v s, after a minute", oldest)
		}
		time.Sleep(9 * time.Minute)
		prober.expectSlots("a:80", "ok=6 timeout=5 overlap=55")
		prober.expectSlots("b:80", "ok=66")
		prober.expectMetrics(map[string]float64{
			`llm_probe_failed_seconds_sum{target="a:80",outcome="timeout"}`: 5 * 115,
			`llm_probe_ttft_seconds_count{target="a:80"}`:                   6,
		})
	})
}

// TestInstanceStopsDuringAProbe holds that nothing is left behind: a probe that ends within the drain is counted, one
// that does not is not, and /metrics answers all the while. A goroutine that is left fails the bubble.
func TestInstanceStopsDuringAProbe(t *testing.T) {
	for drain, counted := range map[time.Duration]int{5 * time.Second: 1, time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			prober := start(t, simnet.New(t, "a"), &Daemon{Grace: drain}, "PROBER_MAX_TOKENS", "4000") // four seconds
			prober.awaitProbe("a:80")
			time.Sleep(500 * time.Millisecond)
			prober.stop()
			synctest.Wait()
			stopped := time.Now()
			prober.expectMetrics(map[string]float64{`llm_probe_in_flight{target="a:80"}`: 1})
			prober.expectReady(false)
			time.Sleep(drain / 2)
			prober.expectSlots("a:80", "")
			prober.end()
			took := time.Since(stopped)
			if took > drain || counted == 0 && took < drain {
				t.Errorf("the drain took %v of %v", took, drain)
			}
			prober.expectLogged(counted, "probe")
			prober.expectLogged(0, "some probes did not end and are left behind")
		})
	}
}

// TestInstanceEndsIfItCannotServe holds that a prober whose metrics nobody can read ends with an error.
func TestInstanceEndsIfItCannotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Daemon{}
		prober := start(t, simnet.New(t, "a"), d)
		prober.fails = net.ErrClosed
		_ = d.Listener.Close()
		synctest.Wait()
		prober.expectLogged(1, "HTTP server failed")
		prober.stop() // it has ended already
		if err := prober.wait(); err == nil || !strings.HasPrefix(err.Error(), "serve memory: ") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// TestInstanceHidesSecrets holds that neither a page nor the log shows a key, also when it is refused.
func TestInstanceHidesSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a")
		prober := start(t, servers, &Daemon{}, "PROBER_API_KEY", "sk-verysecret", "PROBER_QPS", "1")
		time.Sleep(5 * time.Second)
		servers.Fail("a", sim.Fault{Status: 401})
		time.Sleep(5 * time.Second)
		for _, path := range []string{"/", "/metrics", "/api/v1/results", "/api/v1/targets"} {
			body := prober.get(path)
			if strings.Contains(body, "verysecret") {
				t.Errorf("%s shows the key", path)
			}
			if regexp.MustCompile(`(time|people|year) (man|woman|life|way) `).MatchString(body) {
				t.Errorf("%s shows the prompt", path)
			}
		}
		for _, entry := range prober.logs.All() {
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
		profile, err := sim.ParseProfile("fast")
		if err != nil {
			t.Fatal(err)
		}
		profile.MaxModelLen = 4096
		servers := simnet.New(t)
		servers.ServeProfile("a", profile)
		prober := start(t, servers, &Daemon{}, "PROBER_PROMPT_TOKENS", "6000", "PROBER_MAX_TOKENS_PER_DAY", "none")
		time.Sleep(time.Minute)
		prober.expectLogged(1, "a prompt of 6,000 tokens and an answer of 5 do not fit the server's context of 4,096: "+
			"one of 4091 is the longest that fits (PROBER_PROMPT_TOKENS)")
		prober.expectShown("/api/v1/targets", "4,096")
		prober.expectSlots("a:80", "rejected=6")
	})
}
