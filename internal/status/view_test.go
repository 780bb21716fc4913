package status

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// TestQuantiles holds what counts: one value of each probe, but one of each token for ITL, and no value of failed
// probes. Between two values a quantile is interpolated.
func TestQuantiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		contaminated := success("a", 5*ms, 15*ms)
		contaminated.Cache = probe.CacheContaminated
		v := viewOf(success("a", 20*ms, 70*ms), success("a", 10*ms, 20*ms, 30*ms, 40*ms), stalled("a"), contaminated)
		equal(t, "results and successes", []int{v.Results, v.OKResults}, []int{4, 3})
		equal(t, "remarks", v.Remarks(), []string{
			"last 0.0 s: 1 of 3 requests had a prompt that was in the server's cache: excluded from TTFT",
		})
		equal(t, "TTFT", v.Latencies.TTFT, quantiles{N: 2, P50: 0.015, P95: 0.0195})
		equal(t, "ITL", v.Latencies.ITL, quantiles{N: 5, P50: 0.01, P95: 0.042})
		equal(t, "E2EL", v.Latencies.E2EL, quantiles{N: 3, P50: 0.04, P95: 0.067})
	})
}

// TestOnlyWhatWasWatchedIsCalledAnHour holds that the window of a target is as long as it has been watched, at most an
// hour, and that its name says so.
func TestOnlyWhatWasWatchedIsCalledAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := boardOf(success("a", 10*ms))
		for _, test := range []struct {
			after time.Duration
			want  string
		}{{24 * time.Second, "24 s"}, {time.Hour - 25*time.Second, "59 min"}, {time.Second, "hour"}, {time.Minute, "hour"}} {
			time.Sleep(test.after)
			equal(t, "window", b.views()[0].Span(), test.want)
		}
	})
}

// TestSlowestOfWhatWasWatched holds that the table of the slowest probes says of which time they are, and has no column
// for a time that was not watched.
func TestSlowestOfWhatWasWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := boardOf(success("a", 10*ms))
		for _, test := range []struct {
			after time.Duration
			want  []string
		}{
			{24 * time.Second, []string{"last 24 s"}},
			{time.Hour - 24*time.Second, []string{"last hour"}},
			{time.Minute, []string{"last hour", "last 1 h 1 min"}},
			{23*time.Hour - time.Minute, []string{"last hour", "last day"}},
			{time.Minute - time.Second, []string{"last hour", "last day"}},
		} {
			time.Sleep(test.after)
			b.Record(success("a", 10*ms))
			equal(t, "columns", b.views()[0].Slowest().Columns, test.want)
		}
	})
}

func TestOnlyTheLastHourCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := boardOf(success("a", 100*ms, 200*ms))
		equal(t, "values at first", b.views()[0].Latencies.TTFT.N, 1)
		time.Sleep(time.Minute)
		b.Record(success("a", 300*ms, 400*ms))

		time.Sleep(59 * time.Minute)
		equal(t, "values at the end of the hour", b.views()[0].Latencies.TTFT.N, 2)
		time.Sleep(time.Nanosecond)
		v := b.views()[0]
		equal(t, "TTFT after the hour", v.Latencies.TTFT, quantiles{N: 1, P50: 0.3, P95: 0.3})
		equal(t, "results that are kept", len(v.history.results()), 2)
		time.Sleep(time.Hour)
		equal(t, "state after two hours", b.views()[0].State, stateOK)
	})
}

// boardWith returns a board with one target, a, and its objectives.
func boardWith(objectives ...probe.Objective) *Board {
	b := newTestBoard()
	b.Set(probe.Description{Prompt: "cold", Name: "a", Objectives: objectives})
	return b
}

// objectivesOf returns the objectives of the only target with their events: "quick 1/3 missed".
func objectivesOf(b *Board) (list []string) {
	for _, o := range b.views()[0].Objectives {
		text := fmt.Sprintf("%s %d/%d", o.Name, o.Good, o.Total())
		if o.Missed {
			text += " missed"
		}
		list = append(list, text)
	}
	return list
}

// TestBlockedSlotsAreMissed holds that a target that hung for two minutes is not shown as available for most of them.
func TestBlockedSlotsAreMissed(t *testing.T) {
	b := boardWith(probe.Objective{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.99})
	slow := success("a", 100*ms, 200*ms)
	slow.Blocked = map[string]int{"cold": 3}
	hung := broken("a", probe.Timeout, "no answer within 2m")
	hung.Blocked = map[string]int{"cold": 11}
	for _, r := range []*probe.Result{success("a", 100*ms, 200*ms), slow, hung} {
		b.Record(r)
	}
	equal(t, "objectives", objectivesOf(b), []string{"availability 2/14 missed"})
}

// TestObjectivesAreJudgedByTheirPresentLimit holds that results stay judged under another name and goal, but are not
// judged by a limit that there was not when they were recorded.
func TestObjectivesAreJudgedByTheirPresentLimit(t *testing.T) {
	quick := probe.Objective{Name: "quick", Signal: probe.SignalTTFT, Limit: 150 * ms, Goal: 0.9}
	up := probe.Objective{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.25}
	b := boardWith(quick, up)
	b.Record(success("a", 100*ms, 200*ms))
	b.Record(success("a", 200*ms, 300*ms))
	b.Record(broken("a", probe.DNS, "no such host"))
	b.Record(broken("a", probe.DNS, "no such host"))
	equal(t, "objectives", objectivesOf(b), []string{"quick 1/4 missed", "availability 2/4"})

	quick.Goal, quick.Name = 0.2, "fast"
	b.Set(probe.Description{Prompt: "cold", Name: "a", Objectives: []probe.Objective{quick}})
	equal(t, "with another name and goal", objectivesOf(b), []string{"fast 1/4"})

	quick.Limit = time.Second
	b.Set(probe.Description{Prompt: "cold", Name: "a", Objectives: []probe.Objective{quick}})
	b.Record(success("a", 200*ms, 300*ms))
	equal(t, "with another limit", objectivesOf(b), []string{"fast 1/1"})

	quick.RefusalsAreBad = true
	b.Set(probe.Description{Prompt: "cold", Name: "a", Objectives: []probe.Objective{quick}})
	b.Record(broken("a", probe.RateLimited, "HTTP 429"))
	b.Record(success("a", 200*ms, 300*ms))
	equal(t, "with bad refusals", objectivesOf(b), []string{"fast 1/2"})
}

// TestGoalOfAnObjective holds that rounding does not make a goal missed (0.55 * 100 is more than 55), and that without
// events it is neither met nor missed.
func TestGoalOfAnObjective(t *testing.T) {
	for events, want := range map[[2]int]bool{{55, 45}: true, {54, 46}: false, {0, 0}: false} {
		o := objective{Objective: probe.Objective{Goal: 0.55}, Good: events[0], Bad: events[1]}
		equal(t, fmt.Sprint("met with good and bad events ", events), o.Met(), want)
	}
}

// TestWhyTheLastProbeHasNoTPOT holds that a dash beside other latencies is explained, and one of a failure is not.
func TestWhyTheLastProbeHasNoTPOT(t *testing.T) {
	uncounted := success("a", 100*ms, 200*ms)
	uncounted.Source, uncounted.Usage = probe.FromNothing, wire.Usage{}
	for name, test := range map[string]struct {
		last *probe.Result
		want string
	}{
		"a number":  {success("a", 100*ms, 200*ms), "TTFT: , TPOT: , ITL: , E2EL: "},
		"one token": {success("a", 100*ms), "TTFT: , TPOT: the answer has a single token, ITL: the answer has a single token, E2EL: "},
		"a failure": {stalled("a"), "TTFT: , TPOT: , ITL: , E2EL: "},
		"no counts": {uncounted, "TTFT: , TPOT: how many tokens the frames carry is unknown, ITL: , E2EL: "},
	} {
		var list []string
		for _, m := range viewOf(test.last).LatencyRows() {
			list = append(list, m.Name+": "+m.WhyNot)
		}
		equal(t, name, strings.Join(list, ", "), test.want)
	}
}
