package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"
)

// expectMeasured expects how many probes of a target were ok, that its server counted 80 tokens of prompt for each, and
// that each gave a sample of TTFT.
func (w *world) expectMeasured(target string, probes int) {
	w.t.Helper()
	name := fmt.Sprintf("target=%q", target)
	w.expect(fmt.Sprint(probes), "llm_probe_probes_total", name, `outcome="ok"`)
	w.expect(fmt.Sprint(80*probes), "llm_probe_tokens_total", name, `kind="prompt"`)
	w.expect(fmt.Sprint(probes), "llm_probe_ttft_seconds_count", name)
}

// TestNothingIsMeasuredOfOtherLengths holds that every recorded probe has a prompt of the configured length, whatever
// was not there when it was to be calibrated, and that a server that is down is seen to be down meanwhile.
func TestNothingIsMeasuredOfOtherLengths(t *testing.T) {
	group := []string{"PROBER_TARGETS_0_GROUP", "ab", "PROBER_TARGETS_1_GROUP", "ab",
		"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_1_URL", "http://a"}
	configured := []string{"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_0_API", "openai-chat",
		"PROBER_TARGETS_0_MODEL", "meta-llama/Llama-3.1-8B-Instruct"}
	for name, test := range map[string]struct {
		hosts   []string
		environ []string
		down    string // the slots of late in the first minute; empty: it is not among them
		up      string // those of its second minute, in which it is up
		late    int    // its probes that are measured by then
		a       int    // those of a, if it is among them
	}{
		"a dead first member": {
			hosts: []string{"late", "a"}, environ: group, down: "connect=6", up: "ok=6", late: 6, a: 12,
		},
		"a server that comes after the prober": {
			hosts: []string{"late"}, down: "connect=6", up: "ok=5 waiting=1", late: 5,
		},
		"one of which all is configured": {
			hosts: []string{"late"}, environ: configured, down: "connect=6", up: "connect=6 ok=5 waiting=1", late: 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &Daemon{}, test.hosts, test.environ...)
				time.Sleep(time.Minute)
				w.expectSlots("late:80", test.down)
				w.closed.Delete("late")
				time.Sleep(time.Minute)
				w.expectSlots("late:80", test.up)
				w.expectMeasured("late:80", test.late)
				if test.a > 0 {
					w.expectMeasured("a:80", test.a)
					w.expectPage("/api/v1/targets", "is exact by the count of a:80", true)
				}
			})
		})
	}
}

// TestATokenizerThatTimesOutOnce holds that the prompts are then exact by the usage of requests that are recorded
// nowhere.
func TestATokenizerThatTimesOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"slow"})
		time.Sleep(time.Minute + 10*time.Second)
		w.expectMeasured("slow:80", 6)
		w.expectLogged(1, "the length of the prompts is known")
	})
}

// answering makes a host that was closed answer, where answers do not do it in place of the simulated server.
func (w *world) answering(host string, answers func(to http.ResponseWriter, r *http.Request) bool) {
	w.answers.Store(host, answers)
	w.closed.Delete(host)
}

// TestAServerThatLimitsInACalibration holds that its 429 is the slot's outcome, that its pause is obeyed, that the
// calibration then goes on where it was, and that nothing is measured of another length.
func TestAServerThatLimitsInACalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"late"})
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "connect=6")
		var chats atomic.Int64
		w.answering("late", func(to http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.URL.Path == "/tokenize":
				http.NotFound(to, r)
				return true
			case r.URL.Path == "/v1/chat/completions" && chats.Add(1) == 2:
				to.Header().Set("Retry-After", "25")
				http.Error(to, "tokens per minute", http.StatusTooManyRequests)
				return true
			}
			return false
		})
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "ok=2 rate_limited=1 backoff=2 waiting=1")
		w.expectMeasured("late:80", 2)
		if asked := chats.Load(); asked != 3+1+2 { // three lengths, a refusal, two probes
			t.Errorf("%d requests, want no length to be asked twice", asked)
		}
		time.Sleep(time.Minute)
		w.expectMeasured("late:80", 8)
	})
}

// uncounted is an answer of five tokens whose prompt is not counted, by a server whose tokenizer fails.
func uncounted(to http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/tokenize":
		http.Error(to, `{"error":"tokenizer broke"}`, http.StatusInternalServerError)
	case "/v1/chat/completions":
		to.Header().Set("Content-Type", "text/event-stream")
		const token = `data: {"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":null}]}` + "\n\n"
		const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n"
		fmt.Fprint(to, strings.Repeat(token, 5)+end)
	default:
		return false
	}
	return true
}

const stillSkipped = "slots are still skipped: the length of the prompts is not known yet"

// expectStillSkipped expects that it is warned once, and why, that slots are skipped for long.
func (w *world) expectStillSkipped(why string) {
	w.t.Helper()
	w.expectLogged(1, stillSkipped)
	for _, entry := range w.logs.FilterMessage(stillSkipped).All() {
		said := fmt.Sprint(entry.ContextMap()["error"])
		if entry.Level != zapcore.WarnLevel || !strings.Contains(said, why) {
			w.t.Errorf("%s: %s", entry.Level, said)
		}
	}
}

// TestATokenizerThatStaysBroken holds that slots which are skipped for long are warned of once, that log and page say
// why, and that a server which tells the length in no other way is probed then, which is said as well.
func TestATokenizerThatStaysBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"late"})
		time.Sleep(time.Minute)
		w.answering("late", uncounted)
		time.Sleep(20 * time.Second)
		w.expectLogged(0, stillSkipped)
		time.Sleep(20 * time.Second)
		w.expectSlots("late:80", "waiting=4")
		w.expectStillSkipped("/tokenize: HTTP 500: server error: tokenizer broke")
		w.expectPage("/api/v1/targets", "the length of the prompts is not known: /tokenize: HTTP 500", true)
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "ok=5 waiting=5")
		w.expectStillSkipped("/tokenize: HTTP 500: server error: tokenizer broke")
		const estimated = "the server does not count the tokens of prompts:" +
			" their length is estimated, at one token per word"
		w.expectLogged(1, estimated)
		const note = "the server does not count the tokens of prompts: they have about 80, by an estimate"
		w.expectPage("/api/v1/targets", note, true)
		w.expectPage("/", note, true)
	})
}

// TestABudgetThatIsLessThanACalibration holds that log and page say why there is no probe, and that the next day goes
// on from what this one found out.
func TestABudgetThatIsLessThanACalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"late"}, "PROBER_TOKEN_BUDGET_PER_DAY", "150", "PROBER_QPS", "0.001")
		w.answering("late", func(to http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/tokenize" {
				http.NotFound(to, r)
				return true
			}
			return false
		})
		time.Sleep(3 * time.Hour)
		w.expect("0", "llm_probe_ttft_seconds_count", `target="late:80"`)
		w.expectStillSkipped("the token budget of the day is spent")
		w.expectPage("/api/v1/targets", "the length of the prompts is not known: the token budget of the day is spent", true)
		time.Sleep(48 * time.Hour) // the second day ends the calibration, the third has a probe
		w.expectMeasured("late:80", 1)
	})
}

// TestAMemberThatHangsInACalibration holds that it costs the others of its group little, and that it is seen to hang.
func TestAMemberThatHangsInACalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"mute", "a"}, "PROBER_TIMEOUT", "15s",
			"PROBER_TARGETS_0_GROUP", "ab", "PROBER_TARGETS_1_GROUP", "ab",
			"PROBER_TARGETS_0_URL", "http://mute", "PROBER_TARGETS_1_URL", "http://a")
		time.Sleep(time.Minute)
		w.expectMeasured("a:80", 4)
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=10")
		w.expectMeasured("a:80", 10)
		w.expectSlots("mute:80", "timeout=4 overlap=5")
	})
}

// TestAServerThatStopsInACalibration holds that a connection which ends without an answer is no answer without a count:
// the prompts are not written by an estimate.
func TestAServerThatStopsInACalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"late"})
		time.Sleep(time.Minute)
		var stopped atomic.Bool
		w.answering("late", func(to http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.URL.Path == "/tokenize":
				http.NotFound(to, r)
				return true
			case r.URL.Path == "/v1/chat/completions" && !stopped.Swap(true):
				panic(http.ErrAbortHandler)
			}
			return false
		})
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "empty=1 ok=4 waiting=1")
		w.expectMeasured("late:80", 4)
	})
}
