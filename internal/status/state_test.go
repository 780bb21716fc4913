package status

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// answers returns a success by a letter: u is usual, with a TTFT of 100 ms and tokens every 10 ms. The others are
// slower, each in its own way.
func answers(letter rune) *probe.Result {
	switch letter {
	case 'n': // TTFT twice the usual, which is not above the limit
		return success("a", 200*ms, 210*ms, 220*ms, 230*ms)
	case 't': // TTFT
		return success("a", 201*ms, 211*ms, 221*ms, 231*ms)
	case 'i': // ITL, and TPOT with it
		return success("a", 100*ms, 121*ms, 142*ms, 163*ms)
	case 'p': // TPOT alone: a pause
		return success("a", 100*ms, 110*ms, 120*ms, 190*ms)
	case 'b': // buffered: tokens come together
		return success("a", 100*ms, 100*ms+50*time.Microsecond, 100*ms+100*time.Microsecond)
	case 'c': // the same, but with three times the distances
		return success("a", 100*ms, 100*ms+150*time.Microsecond, 100*ms+300*time.Microsecond)
	case 'm': // another model
		r := success("a", 300*ms, 330*ms, 360*ms, 390*ms)
		r.Model = "other"
		return r
	}
	return success("a", 100*ms, 110*ms, 120*ms, 130*ms)
}

// replay records a result of target a in each interval, by its letter: x failed, w answered wrongly, r was refused, the
// others are answers. A number repeats the letter after it.
func replay(b *Board, interval time.Duration, letters string) {
	for part := range strings.FieldsSeq(letters) {
		n := 1
		var letter rune
		if _, err := fmt.Sscanf(part, "%d%c", &n, &letter); err != nil {
			letter = rune(part[0])
		}
		for range n {
			time.Sleep(interval)
			switch letter {
			case 'x':
				b.Record(broken("a", probe.Overloaded, "HTTP 503"))
			case 'r':
				b.Record(broken("a", probe.Unauthorized, "HTTP 401"))
			case 'w':
				b.Record(broken("a", probe.WrongAnswer, "wrong"))
			default:
				b.Record(answers(letter))
			}
		}
	}
}

// TestTrouble holds when a target whose last probe succeeded is not ok, just on both sides of each limit, and how the
// page says why.
func TestTrouble(t *testing.T) {
	const (
		ten    = 10 * time.Second
		minute = time.Minute
		missed = "missing_objective: availability "
		slow   = "slow: TTFT 2.0 times the usual: median of the last 20 probes 201 ms, usually 100 ms"
	)
	for _, test := range []struct {
		name     string
		interval time.Duration
		results  string
		want     string // the state, and why
	}{
		{"two bad ones", ten, "2x u", "ok"},
		{"three of four", ten, "3x u", missed + "25% (1 of 4) over the last 40 s, goal 90%, last bad probe 10 s ago"},
		{"a goal that is met exactly", ten, "3x 27u", "ok"},
		{"a goal that is just missed", ten, "3x 26u",
			missed + "89.6% (26 of 29) over the last 4 min, goal 90%, last bad probe 4 min ago"},
		{"a failure later it is failing", ten, "3x 26u x",
			"failing: HTTP 503: availability 86.6% (26 of 30) over the last 5 min, goal 90%"},
		{"refusals are not judged", ten, "30r 20u", "ok"},
		{"seven bad ones of the last hour", minute, "9x 54u",
			missed + "88.5% (54 of 61) over the last hour, goal 90%, last bad probe 54 min ago"},
		{"when one is older", minute, "9x 55u", "ok"},
		{"rare results", 20 * minute, "3x u", missed + "25% (1 of 4) over the last hour, goal 90%, last bad probe 20 min ago"},
		{"when one of them is older", 20 * minute, "3x 2u", "ok"},

		{"half of the last results are slow", ten, "20u 10t", "ok"},
		{"more than half of them", ten, "20u 11t", slow},
		{"and one that failed", ten, "20u x 11t",
			"slow: TTFT 2.0 times the usual: median of the last 19 probes 201 ms, usually 100 ms"},
		{"a ratio at the limit", ten, "20u 11n", "ok"},
		{"ITL without TPOT", ten, "20u 11i",
			"slow: ITL 2.1 times the usual: median of the last 20 probes 21.0 ms, usually 10.0 ms"},
		{"TPOT by itself", ten, "20u 11p",
			"slow: TPOT 3.0 times the usual: median of the last 20 probes 30.0 ms, usually 10.0 ms"},
		{"tokens that come together", ten, "20b 20c", "ok"},
		{"another model", ten, "20u 20m", "ok"},
		{"too few of the last results", ten, "20r 20u 9t 11r u", "ok"},
		{"rare results that are slow", 4 * minute, "20u 14t", "slow: TTFT 2.0 times the usual: median of the last 16 probes 201 ms, usually 100 ms"},
		{"rarer results are too few", 7 * minute, "20u 9t", "ok"},
		{"results that were usual again", ten, "20u 11t 10u", "ok"},
		{"as long as usual results before", ten, "60u 60t", slow},
		{"longer than those", ten, "60u 61t", "ok"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBoard()
				b.Set(probe.Description{Prompt: "cold", Name: "a", Interval: test.interval, Objectives: []probe.Objective{
					{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.9},
				}})
				replay(b, test.interval, test.results)
				v := b.views()[0]
				got := strings.Join(append([]string{string(v.State)}, v.Why()...), ": ")
				equal(t, "state", got, test.want)
			})
		})
	}
}

// TestAReloadEndsTrouble holds that an objective that a reload removed is not missed any more, at once, and that
// another question of the same target may take longer than the one before.
func TestAReloadEndsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objectives := []probe.Objective{{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.9}}
		b := boardWith(objectives...)
		replay(b, time.Second, "3x 2u")
		before, last := b.views()[0], time.Now()
		time.Sleep(time.Minute)
		b.Set(probe.Description{Prompt: "cold", Name: "a"})
		now := b.views()[0]
		equal(t, "states", []state{before.State, now.State}, []state{stateMissing, stateOK})
		equal(t, "since", now.Since, last)
		b.Set(probe.Description{Prompt: "cold", Name: "a", Objectives: objectives})
		again := b.views()[0]
		equal(t, "with the objective again", again.State, stateMissing)
		equal(t, "since", again.Since, last)
	})
	for what, change := range map[string]func(*probe.Description){
		"nothing":      func(*probe.Description) {},
		"an objective": func(d *probe.Description) { d.Objectives = []probe.Objective{{Name: "a"}} },
		"the URL":      func(d *probe.Description) { d.URL = "http://other" },
		"the prompt":   func(d *probe.Description) { d.PromptKind = "warm" },
		"its length":   func(d *probe.Description) { d.PromptTokens = 200 },
		"the answer's": func(d *probe.Description) { d.MaxTokens = 200 },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBoard("a")
			replay(b, time.Second, "40u")
			d := probe.Description{Prompt: "cold", Name: "a", Interval: 10 * time.Second}
			change(&d)
			b.Set(d)
			replay(b, time.Second, "20t")
			want := stateOK
			if what == "nothing" || what == "an objective" {
				want = stateSlow
			}
			equal(t, "state if "+what+" changes", b.views()[0].State, want)
		})
	}
}

// TestSince holds since when a target is in its state, in seconds after it was added, whether that is the first probe,
// and when a probe last succeeded.
func TestSince(t *testing.T) {
	reject := func(b *Board) { b.RejectTarget("a", nil, usage.Problems{{Place: "f.yaml:7", Text: "is wrong"}}) }
	for _, test := range []struct {
		name    string
		results string // one each 10 s
		then    func(b *Board)
		want    string
	}{
		{"no result", "", nil, "waiting since 0, last ok never"},
		{"the first success", "3u", nil, "ok since 10 (start), last ok 30"},
		{"the first failure after a success", "x u 3x", nil, "failing since 30, last ok 20"},
		{"no success at all", "2x r", nil, "failing since 10 (start), last ok never"},
		{"a success after failures", "u 2x 2u", nil, "ok since 40, last ok 50"},
		{"failures that miss an objective", "9u x u x u x", nil, "failing since 140, last ok 130"},
		{"and a success after them", "9u x u x u x 2u", nil, "missing_objective since 140, last ok 160"},
		{"when that is over", "9u x u x u x 63u", nil, "ok since 750, last ok 770"},
		{"twice as slow as before", "20u 15t", nil, "slow since 310, last ok 350"},
		{"rejected twice", "2u", func(b *Board) { reject(b); time.Sleep(time.Second); reject(b) }, "rejected since 20, last ok 20"},
		{"rejected once more", "2u", func(b *Board) {
			reject(b)
			b.Set(probe.Description{Prompt: "cold", Name: "a"})
			time.Sleep(time.Second)
			reject(b)
		}, "rejected since 21, last ok 20"},
		{"a probe that hangs", "2u", func(b *Board) {
			began := time.Now().Add(5 * time.Second)
			b.Set(probe.Description{Prompt: "cold", Name: "a", InFlight: func() (int, time.Time) { return 1, began }})
			time.Sleep(time.Minute)
		}, "hanging since 25, last ok 20"},
		{"the first probe hangs", "", func(b *Board) {
			began := time.Now().Add(5 * time.Second)
			b.Set(probe.Description{Name: "a", Prompt: "cold", InFlight: func() (int, time.Time) { return 1, began }})
			time.Sleep(time.Minute)
		}, "hanging since 5 (start), last ok never"},
		{"a probe that hangs after failures", "u 2x", func(b *Board) {
			began := time.Now().Add(5 * time.Second)
			b.Set(probe.Description{Prompt: "cold", Name: "a", InFlight: func() (int, time.Time) { return 1, began }})
			time.Sleep(time.Minute)
		}, "hanging since 20, last ok 10"},
		{"a probe that hung and then failed", "u", func(b *Board) {
			time.Sleep(10 * time.Second)
			r := broken("a", probe.Timeout, "too slow")
			time.Sleep(2 * time.Minute)
			b.Record(r)
		}, "failing since 20, last ok 10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				added := time.Now()
				b := newTestBoard()
				b.Set(probe.Description{Prompt: "cold", Name: "a", Objectives: []probe.Objective{
					{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.96},
				}})
				replay(b, 10*time.Second, test.results)
				if test.then != nil {
					test.then(b)
				}
				v := b.views()[0]
				lastOK := "never"
				if !v.LastOK.IsZero() {
					lastOK = fmt.Sprint(v.LastOK.Sub(added).Seconds())
				}
				start := ""
				if v.SinceStart {
					start = " (start)"
				}
				got := fmt.Sprintf("%s since %v%s, last ok %s", v.State, v.Since.Sub(added).Seconds(), start, lastOK)
				equal(t, "state", got, test.want)
			})
		})
	}
}

// TestWhyATargetIsDown holds that missed objectives are part of the reason only while some probes succeed: a target
// that is down misses all of them.
func TestWhyATargetIsDown(t *testing.T) {
	const missed = "availability 66.6% (10 of 15) over the last 2 min, goal 96%"
	for results, want := range map[string][]string{
		"8u x u x u 3x": {"HTTP 503", missed},
		"8u 61x":        {"HTTP 503"},
		"10x":           {"HTTP 503"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBoard()
			b.Set(probe.Description{Prompt: "cold", Name: "a", Objectives: []probe.Objective{
				{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.96},
			}})
			replay(b, 10*time.Second, results)
			equal(t, results, b.views()[0].Why(), want)
		})
	}
}

func TestStates(t *testing.T) {
	const interval = 10 * time.Second
	quick := success("a", 100*ms, 200*ms)
	slow := success("a", time.Second, 8*time.Second)
	failed := broken("a", probe.Timeout, "too slow")
	type results = []*probe.Result
	for name, test := range map[string]struct {
		interval time.Duration
		results  results
		inFlight time.Duration // since when a probe is in flight; 0 if none is
		want     state
	}{
		"no result yet":                              {interval, nil, 0, stateWaiting},
		"the first probe is under way":               {interval, nil, 10 * time.Second, stateWaiting},
		"the first probe takes too long":             {interval, nil, 10*time.Second + 1, stateHanging},
		"the last probe succeeded":                   {interval, results{failed, quick}, 0, stateOK},
		"half an interval is not too long":           {interval, results{quick}, 5 * time.Second, stateOK},
		"more than half an interval is":              {interval, results{quick}, 5*time.Second + 1, stateHanging},
		"and so is 10 s, however long the interval":  {time.Hour, results{quick}, 10*time.Second + 1, stateHanging},
		"an interval that is not known":              {0, results{quick}, 10 * time.Second, stateOK},
		"a slow server does not hang":                {interval, results{slow}, 16 * time.Second, stateOK},
		"but hangs when it is twice as slow as ever": {interval, results{slow}, 16*time.Second + 1, stateHanging},
		"the last probe failed":                      {interval, results{quick, failed}, 0, stateFailing},
		"the last failed and the next one hangs":     {interval, results{quick, failed}, 6 * time.Second, stateHanging},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := boardOf(test.results...)
			began := time.Now()
			b.Set(probe.Description{Prompt: "cold", Name: "a", Interval: test.interval, InFlight: func() (int, time.Time) {
				return min(1, int(test.inFlight)), began
			}})
			time.Sleep(test.inFlight)
			equal(t, name, b.views()[0].State, test.want)
		})
	}
}

// TestRunbooksAreThoseOfTheAlerts holds that there is a runbook for every failure and for each state that is not good,
// and that the rule of that alert names the outcomes that only it is about.
func TestRunbooksAreThoseOfTheAlerts(t *testing.T) {
	rules, err := os.ReadFile("../../alerts/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ruleOf := map[string]string{} // by alert
	for _, rule := range strings.Split(string(rules), "\n  - alert: ")[1:] {
		name, text, _ := strings.Cut(rule, "\n")
		text, _, _ = strings.Cut(text, "annotations:")
		ruleOf[name] += text
	}
	for _, o := range probe.Outcomes() {
		if o == probe.OK {
			continue
		}
		alert := runbookOf(o, true)
		if alert != "ProberTargetDown" && !regexp.MustCompile(`outcome=~?"[^"]*\b`+string(o)+`\b`).MatchString(ruleOf[alert]) {
			t.Errorf("the rule of %s is not about %s", alert, o)
		}
	}
	equal(t, "what is rejected after it has succeeded, and before",
		[]string{runbookOf(probe.Rejected, true), runbookOf(probe.Rejected, false)},
		[]string{"ProberTargetDown", "ProberTargetRefuses"})

	synctest.Test(t, func(t *testing.T) {
		got := map[state]string{}
		for _, v := range everyState().views() {
			got[v.State] = v.Runbook
			if v.Runbook != "" && ruleOf[v.Runbook] == "" {
				t.Errorf("there is no alert %s", v.Runbook)
			}
		}
		equal(t, "runbooks by state", got, map[state]string{
			stateFailing: "ProberTargetRefuses", stateHanging: "ProberProbeHanging", stateRejected: "ProberTargetRejected",
			stateMissing: "ProberErrorBudgetBurn", stateSlow: "ProberSevereSlowdown",
			stateWaiting: "", stateOK: "", stateDisabled: "",
		})
	})
}
