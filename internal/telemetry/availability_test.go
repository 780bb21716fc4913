package telemetry

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// TestAvailability holds which probes show a server that works. A probe is recorded each minute; want is the minute of
// the last one that did.
func TestAvailability(t *testing.T) {
	const metric = "llm_probe_last_available_timestamp_seconds"
	outcome := func(o probe.Outcome, tokens int) func(*recording, time.Time) {
		return func(r *recording, at time.Time) {
			result := refused()
			result.Start, result.Elapsed, result.Outcome = at, 0, o
			result.Tokens = make([]probe.Arrival, tokens)
			r.Record(result)
		}
	}
	reload := func(change func(*probe.Description)) func(*recording, time.Time) {
		return func(r *recording, _ time.Time) {
			target := fixedTarget()
			change(&target)
			r.Set(target)
		}
	}
	without := func(reason error) func(*recording, time.Time) {
		return func(r *recording, at time.Time) {
			result := refused()
			result.Start, result.Elapsed, result.Outcome, result.Err = at, 0, probe.Rejected, reason
			r.Record(result)
		}
	}
	ok := outcome(probe.OK, 1)
	rejected := outcome(probe.Rejected, 0)
	none := 0
	for name, test := range map[string]struct {
		minutes []func(*recording, time.Time)
		want    int
	}{
		"an answer":                        {[]func(*recording, time.Time){ok}, 1},
		"no connection":                    {[]func(*recording, time.Time){outcome(probe.Connect, 0)}, none},
		"no token":                         {[]func(*recording, time.Time){outcome(probe.Empty, 0)}, none},
		"a stream that stalls":             {[]func(*recording, time.Time){outcome(probe.Stalled, 40)}, 1},
		"a stream that is cut":             {[]func(*recording, time.Time){outcome(probe.Truncated, 1)}, 1},
		"an answer of another length":      {[]func(*recording, time.Time){outcome(probe.WrongLength, 3)}, 1},
		"a wrong key":                      {[]func(*recording, time.Time){ok, outcome(probe.Unauthorized, 0)}, 2},
		"a quota that is used up":          {[]func(*recording, time.Time){ok, outcome(probe.RateLimited, 0)}, 2},
		"a filter":                         {[]func(*recording, time.Time){ok, outcome(probe.Filtered, 0)}, 2},
		"rejected from the start":          {[]func(*recording, time.Time){rejected, rejected}, 2},
		"without any model from the start": {[]func(*recording, time.Time){without(probe.ErrNoModel)}, none},
		"without the model that it had":    {[]func(*recording, time.Time){without(probe.ErrModelGone)}, none},
		"rejected after it worked":         {[]func(*recording, time.Time){rejected, ok, rejected}, 2},
		"rejected while it did not answer": {[]func(*recording, time.Time){outcome(probe.Connect, 0), rejected}, 2},
		"overloaded is no refusal":         {[]func(*recording, time.Time){ok, outcome(probe.Overloaded, 0)}, 1},
		"rejected after a reload": {[]func(*recording, time.Time){ok,
			reload(func(*probe.Description) {}), rejected}, 1},
		"rejected with another objective": {[]func(*recording, time.Time){ok,
			reload(func(d *probe.Description) { d.Objectives = nil }), rejected}, 1},
		"rejected with a prompt that is new": {[]func(*recording, time.Time){ok,
			reload(func(d *probe.Description) { d.PromptTokens = 9000 }), rejected}, 3},
		"rejected with an answer that is new": {[]func(*recording, time.Time){ok,
			reload(func(d *probe.Description) { d.MaxTokens = 9000 }), rejected}, 3},
		"rejected by another server": {[]func(*recording, time.Time){ok,
			reload(func(d *probe.Description) { d.URL = "http://b" }), rejected}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecording(t)
			r.Set(fixedTarget())
			for i, step := range test.minutes {
				step(r, day().Add(time.Duration(i+1)*time.Minute))
			}
			want := 0.0
			if test.want != none {
				want = float64(day().Add(time.Duration(test.want) * time.Minute).Unix())
			}
			if got := r.values(t, metric)[metric+",model=llama,prompt=cold,target=a"]; got != want {
				t.Errorf("available at %v, want %v", got, want)
			}
		})
	}
}

// TestAnotherModelBehindATarget holds that a target has worked, whatever model it had then.
func TestAnotherModelBehindATarget(t *testing.T) {
	const metric = "llm_probe_last_available_timestamp_seconds"
	r := newRecording(t)
	r.Set(fixedTarget())
	r.Record(succeeded5())
	another := fixedTarget()
	another.Model = "m2"
	r.Set(another)
	r.Record(with(refused(), func(r *probe.Result) { r.Model, r.Outcome = "m2", probe.Rejected }))
	if got := r.values(t, metric); len(got) > 0 {
		t.Errorf("available: %v", got)
	}
}
