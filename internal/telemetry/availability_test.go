package telemetry

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/timing"
)

// resultAt returns a result without duration at a minute of the day.
func resultAt(minute int, outcome probe.Outcome, tokens int) *probe.Result {
	r := refused()
	r.Start = day().Add(time.Duration(minute) * time.Minute)
	r.Elapsed = 0
	r.Outcome = outcome
	r.Timeline.Frames = make([]timing.Frame, tokens)
	return r
}

// TestAvailability holds which probes show a server that works, before the target's first success and after it.
func TestAvailability(t *testing.T) {
	rejectedFor := func(reason probe.Reason) *probe.Result {
		return with(resultAt(1, probe.Rejected, 0), func(r *probe.Result) { r.Reason = reason })
	}
	for name, test := range map[string]struct {
		result        *probe.Result
		before, after bool
	}{
		"an answer":                   {resultAt(1, probe.OK, 1), true, true},
		"a stream that stalls":        {resultAt(1, probe.Stalled, 40), true, true},
		"an answer of another length": {resultAt(1, probe.WrongLength, 3), true, true},
		"no token":                    {resultAt(1, probe.Empty, 0), false, false},
		"no connection":               {resultAt(1, probe.Connect, 0), false, false},
		"an overloaded server":        {resultAt(1, probe.Overloaded, 0), false, false},
		"a wrong key":                 {resultAt(1, probe.Unauthorized, 0), true, true},
		"a quota that is used up":     {resultAt(1, probe.RateLimited, 0), true, true},
		"a filter":                    {resultAt(1, probe.Filtered, 0), true, true},
		"a rejected request":          {resultAt(1, probe.Rejected, 0), true, false},
		"a server without any model":  {rejectedFor(probe.ReasonNoModelLoaded), false, false},
		"a server without its model":  {rejectedFor(probe.ReasonModelGone), false, false},
	} {
		for hasWorked, want := range map[bool]bool{false: test.before, true: test.after} {
			s := promptState{hasWorked: hasWorked}
			s.update(test.result)
			if got := !s.lastAvailable.IsZero(); got != want {
				t.Errorf("%s, after a success %t: shows a server that works: %t", name, hasWorked, got)
			}
		}
	}
}

// TestWhetherATargetHasWorked holds after which changes a rejection is an outage: after those by which the server is
// still expected to answer. The target succeeds in the first minute and is rejected in the second.
func TestWhetherATargetHasWorked(t *testing.T) {
	const never, first, second = 0, 1, 2 // minute of the last probe that showed a server that works
	for name, test := range map[string]struct {
		change func(*probe.Description)
		want   int
	}{
		"nothing":                      {func(*probe.Description) {}, first},
		"another objective":            {func(d *probe.Description) { d.Objectives = nil }, first},
		"another model, in new series": {func(d *probe.Description) { d.Model = "m2" }, never},
		"a longer prompt":              {func(d *probe.Description) { d.PromptTokens = 9000 }, second},
		"a longer answer":              {func(d *probe.Description) { d.MaxTokens = 9000 }, second},
		"another server":               {func(d *probe.Description) { d.URL = "http://b" }, second},
		"another kind of text":         {func(d *probe.Description) { d.PromptKind = "warm" }, second},
	} {
		r := newRecorder(Options{}, nil)
		target := fixedTarget()
		r.Set(target)
		r.Record(resultAt(1, probe.OK, 1))
		test.change(&target)
		r.Set(target)
		rejected := resultAt(2, probe.Rejected, 0)
		rejected.Prompt, rejected.Model = target.Prompt, target.Model
		r.Record(rejected)
		got := 0
		if at := r.prompts[probe.PromptID{Target: "a", Prompt: target.Prompt}].state.lastAvailable; !at.IsZero() {
			got = int(at.Sub(day()).Minutes())
		}
		if got != test.want {
			t.Errorf("%s: available in minute %d, want %d", name, got, test.want)
		}
	}
}

func TestAReloadIsNoSuccess(t *testing.T) {
	r := newRecorder(Options{}, nil)
	r.Set(fixedTarget())
	r.Set(fixedTarget())
	r.Record(resultAt(1, probe.Rejected, 0))
	if r.prompts[probe.PromptID{Target: "a", Prompt: "cold"}].state.lastAvailable.IsZero() {
		t.Error("a rejection before the first success is an outage")
	}
}

// TestResultsMayComeOutOfOrder holds that the timestamps of a target never go back.
func TestResultsMayComeOutOfOrder(t *testing.T) {
	var s promptState
	s.update(resultAt(2, probe.OK, 1))
	s.update(resultAt(1, probe.OK, 1))
	want := day().Add(2 * time.Minute)
	for name, got := range map[string]time.Time{
		"probe": s.lastProbe, "available": s.lastAvailable, "success": s.lastSuccess,
	} {
		if !got.Equal(want) {
			t.Errorf("last %s at %v, want %v", name, got, want)
		}
	}
}
