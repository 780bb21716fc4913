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
func (i *instance) expectMeasured(target string, probes int) {
	i.t.Helper()
	label := fmt.Sprintf("target=%q", target)
	i.expectMetrics(map[string]float64{
		"llm_probe_probes_total{" + label + `,outcome="ok"}`:  float64(probes),
		"llm_probe_tokens_total{" + label + `,kind="prompt"}`: float64(80 * probes),
		"llm_probe_ttft_seconds_count{" + label + "}":         float64(probes),
	})
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
		down    string // slots of late after a minute in which it is down
		up      string // slots of late after another minute in which it is up
		late    int    // probes of late that are measured by then
		a       int    // probes of a that are measured by then; 0: it is not among the hosts
	}{
		"a first member of a group that comes after the prober": {
			hosts: []string{"late", "a"}, environ: group, down: "connect=6", up: "ok=6", late: 6, a: 12,
		},
		"a server that comes after the prober": {
			hosts: []string{"late"}, down: "connect=6", up: "ok=5 waiting=1", late: 5,
		},
		"a server of which API and model are configured": {
			hosts: []string{"late"}, environ: configured, down: "connect=6", up: "connect=6 ok=5 waiting=1", late: 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				servers := newNetwork(t, test.hosts...)
				servers.refuse("late")
				prober := servers.start(&Daemon{}, test.environ...)
				time.Sleep(time.Minute)
				prober.expectSlots("late:80", test.down)
				servers.accept("late")
				time.Sleep(time.Minute)
				prober.expectSlots("late:80", test.up)
				prober.expectMeasured("late:80", test.late)
				if test.a > 0 {
					prober.expectMeasured("a:80", test.a)
					prober.expectShown("/api/v1/targets", "is exact by the count of a:80")
				}
			})
		})
	}
}

// TestATokenizerThatTimesOutOnce holds that the prompts are then exact by the usage of requests that are recorded
// nowhere.
func TestATokenizerThatTimesOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := newNetwork(t, "slow")
		var asked atomic.Bool
		servers.answer("slow", func(_ http.ResponseWriter, r *http.Request) bool {
			hangs := r.URL.Path == "/tokenize" && !asked.Swap(true)
			if hangs {
				time.Sleep(8 * time.Second)
			}
			return hangs
		})
		prober := servers.start(&Daemon{})
		time.Sleep(time.Minute + 10*time.Second)
		prober.expectMeasured("slow:80", 6)
		prober.expectLogged(1, "the length of the prompts is known")
	})
}

// TestAServerThatLimitsInACalibration holds that its 429 is the slot's outcome, that its pause is obeyed, that the
// calibration then goes on where it was, and that nothing is measured of another length.
func TestAServerThatLimitsInACalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := newNetwork(t, "late")
		servers.refuse("late")
		prober := servers.start(&Daemon{})
		time.Sleep(time.Minute)
		prober.expectSlots("late:80", "connect=6")
		var chats atomic.Int64
		servers.answer("late", func(to http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v1/chat/completions" && chats.Add(1) == 2 {
				to.Header().Set("Retry-After", "25")
				http.Error(to, "tokens per minute", http.StatusTooManyRequests)
				return true
			}
			return hasNoTokenizer(to, r)
		})
		time.Sleep(time.Minute)
		prober.expectSlots("late:80", "ok=2 rate_limited=1 backoff=2 waiting=1")
		prober.expectMeasured("late:80", 2)
		if asked := chats.Load(); asked != 3+1+2 { // three lengths, a refusal, two probes
			t.Errorf("%d requests, want no length to be asked twice", asked)
		}
		time.Sleep(time.Minute)
		prober.expectMeasured("late:80", 8)
	})
}

const stillSkipped = "slots are still skipped: the length of the prompts is not known yet"

// expectStillSkipped expects that it is warned once, and why, that slots are skipped for long.
func (i *instance) expectStillSkipped(why string) {
	i.t.Helper()
	i.expectLogged(1, stillSkipped)
	for _, entry := range i.logs.FilterMessage(stillSkipped).All() {
		said := fmt.Sprint(entry.ContextMap()["error"])
		if entry.Level != zapcore.WarnLevel || !strings.Contains(said, why) {
			i.t.Errorf("%s: %s", entry.Level, said)
		}
	}
}

// TestABudgetThatIsLessThanACalibration holds that log and page say why there is no probe, and that the next day goes
// on from what this one found out.
func TestABudgetThatIsLessThanACalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := newNetwork(t, "late")
		servers.refuse("late")
		prober := servers.start(&Daemon{}, "PROBER_TOKEN_BUDGET_PER_DAY", "150", "PROBER_QPS", "0.001")
		servers.answer("late", hasNoTokenizer)
		time.Sleep(3 * time.Hour)
		prober.expectMetrics(map[string]float64{`llm_probe_ttft_seconds_count{target="late:80"}`: 0})
		prober.expectStillSkipped("the token budget of the day is spent")
		prober.expectShown("/api/v1/targets", "the length of the prompts is not known: the token budget of the day is spent")
		time.Sleep(48 * time.Hour) // the second day ends the calibration, the third has a probe
		prober.expectMeasured("late:80", 1)
	})
}

// TestAMemberThatHangsInACalibration holds that it costs the others of its group little, and that it is seen to hang.
func TestAMemberThatHangsInACalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := newNetwork(t, "mute", "a")
		servers.answer("mute", saysItsModelAlone)
		prober := servers.start(&Daemon{}, "PROBER_TIMEOUT", "15s",
			"PROBER_TARGETS_0_GROUP", "ab", "PROBER_TARGETS_1_GROUP", "ab",
			"PROBER_TARGETS_0_URL", "http://mute", "PROBER_TARGETS_1_URL", "http://a")
		time.Sleep(time.Minute)
		prober.expectMeasured("a:80", 4)
		time.Sleep(time.Minute)
		prober.expectSlots("a:80", "ok=10")
		prober.expectMeasured("a:80", 10)
		prober.expectSlots("mute:80", "timeout=4 overlap=5")
	})
}

// TestAServerThatStopsInACalibration holds that a connection which ends without an answer is no answer without a count:
// the prompts are not written by an estimate.
func TestAServerThatStopsInACalibration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := newNetwork(t, "late")
		servers.refuse("late")
		prober := servers.start(&Daemon{})
		time.Sleep(time.Minute)
		var stopped atomic.Bool
		servers.answer("late", func(to http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v1/chat/completions" && !stopped.Swap(true) {
				panic(http.ErrAbortHandler)
			}
			return hasNoTokenizer(to, r)
		})
		time.Sleep(time.Minute)
		prober.expectSlots("late:80", "empty=1 ok=4 waiting=1")
		prober.expectMeasured("late:80", 4)
	})
}
