package status

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

const ms = time.Millisecond

// success returns an answer whose token frames come at the given times since its start, which is now, one token each.
func success(target string, at ...time.Duration) *probe.Result {
	r := &probe.Result{
		Target: target, Group: "g", Model: "m", API: "openai-chat", Prompt: "cold",
		Outcome: probe.OK, Status: 200, Finish: "length", Source: probe.FromUsage,
		Usage: wire.Usage{Prompt: wire.Tokens(21000), Output: wire.Tokens(len(at))},
		Start: time.Now(), Wording: probe.Wording{Characters: 40, Run: 0.25, Distinct: 0.75},
	}
	r.Due, r.TraceID = r.Start, traceID(len(at))
	for i, t := range at {
		r.Timeline.Frames = append(r.Timeline.Frames, timing.Frame{At: t, Read: uint32(i + 1), N: 1})
		r.Timeline.FinishedAt, r.Elapsed = t, t
	}
	return r
}

// traceID returns the id of a result of that many tokens that starts now.
func traceID(n int) string { return fmt.Sprintf("%016x%016x", time.Now().UnixNano(), n) }

// long returns a success of that many tokens.
func long(target string, tokens int) *probe.Result {
	at := make([]time.Duration, tokens)
	for i := range at {
		at[i] = time.Duration(i+1) * ms
	}
	return success(target, at...)
}

// broken returns a failure without tokens.
func broken(target string, o probe.Outcome, text string) *probe.Result {
	return &probe.Result{
		Target: target, Prompt: "cold", Outcome: o, Err: errors.New(text), Elapsed: 5 * ms, TraceID: traceID(0),
		Due: time.Now(), Start: time.Now(),
	}
}

func newTestBoard(targets ...string) *Board {
	b := NewBoard(time.Now(), "v1", "", Links{})
	for _, name := range targets {
		b.Set(probe.Description{Prompt: "cold", Name: name, Interval: 10 * time.Second})
	}
	return b
}

// boardOf returns a board with results of its one target, a.
func boardOf(results ...*probe.Result) *Board {
	b := newTestBoard("a")
	for _, r := range results {
		b.Record(r)
	}
	return b
}

// viewOf returns the view of the target of boardOf.
func viewOf(results ...*probe.Result) *view { return boardOf(results...).views()[0] }

// get returns the board's answer to a path.
func get(t *testing.T, b *Board, path string) *httptest.ResponseRecorder {
	t.Helper()
	return request(t, b, http.MethodGet, path)
}

func request(t *testing.T, b *Board, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	b.Register(mux)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return w
}

// equal compares what was got, of which it says what it is, with what was wanted.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTargetsComeAndGo(t *testing.T) {
	b := newTestBoard("b", "gone", "a")
	b.RemoveTarget("gone")
	b.RemoveTarget("never there")
	for _, target := range []string{"b", "gone", "unknown"} {
		b.Record(success(target, ms))
	}
	b.Record(&probe.Result{Target: "b", Outcome: probe.Canceled})
	b.Skipped("unknown", "cold", "overlap")
	b.Set(probe.Description{Prompt: "cold", Name: "b", Model: "new"})

	var got []string
	for _, v := range b.views() {
		got = append(got, fmt.Sprintf("%s %s %d", v.Target.Name, v.Target.Model, len(v.history.results())))
	}
	equal(t, "targets, with their results", got, []string{"b new 1", "a  0"})
}

// TestARejectedTargetKeepsItsResults holds that they are there while it is rejected and when it is probed again.
func TestARejectedTargetKeepsItsResults(t *testing.T) {
	b := boardOf(success("a", ms), broken("a", probe.Timeout, "too slow"))
	b.RejectTarget("a", nil, usage.Problems{{Place: "PROBER_TARGETS_0_API_KEY_FILE", Text: "is empty"}})
	v := b.views()[0]
	equal(t, "while it is rejected", fmt.Sprint(v.State, " ", v.Results, " ", strings.Join(v.Why(), "; ")),
		"rejected 2 PROBER_TARGETS_0_API_KEY_FILE: is empty")
	b.Set(probe.Description{Prompt: "cold", Name: "a"})
	v = b.views()[0]
	equal(t, "when it is not any more", fmt.Sprint(v.State, " ", v.Results, " ", strings.Join(v.Why(), "; ")), "failing 2 too slow")
}

func TestBoardIsSafeForConcurrentUse(t *testing.T) {
	b := newTestBoard("a", "b")
	var all sync.WaitGroup
	for _, do := range []func(){
		func() { b.Record(success("a", ms, 2*ms)) },
		func() { b.Record(broken("b", probe.Timeout, "slow")) },
		func() { b.Set(probe.Description{Prompt: "cold", Name: "b"}); b.Skipped("b", "cold", "late") },
		func() { b.RemoveTarget("b"); b.SetReady(true); b.SetRejection(&Rejection{}) },
		func() { get(t, b, "/"); get(t, b, "/api/v1/results"); get(t, b, "/api/v1/targets") },
	} {
		all.Go(func() {
			for range 50 {
				do()
			}
		})
	}
	all.Wait()
	equal(t, "results", b.views()[0].Results, 50)
}
