package status

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
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
		Start: time.Now(),
	}
	r.Due, r.TraceID = r.Start, traceID(len(at))
	for i, t := range at {
		r.Timeline.Frames = append(r.Timeline.Frames, timing.Frame{At: t, Read: uint32(i + 1), N: 1})
		r.Timeline.FinishedAt, r.Elapsed = t, t
	}
	return r
}

// traceID returns the id of a result of so many tokens that starts now.
func traceID(n int) string { return fmt.Sprintf("%016x%016x", time.Now().UnixNano(), n) }

// long returns a success of so many tokens.
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
		Target: target, Outcome: o, Err: errors.New(text), Elapsed: 5 * ms, TraceID: traceID(0),
		Due: time.Now(), Start: time.Now(),
	}
}

func newTestBoard(targets ...string) *Board {
	b := NewBoard(time.Now(), "v1", "", Links{})
	for _, name := range targets {
		b.Set(probe.Description{Name: name, Interval: 10 * time.Second})
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
	b.Remove("gone")
	b.Remove("never there")
	for _, target := range []string{"b", "gone", "unknown"} {
		b.Record(success(target, ms))
	}
	b.Record(&probe.Result{Target: "b", Outcome: probe.Canceled})
	b.Skipped("unknown", "overlap")
	b.Set(probe.Description{Name: "b", Model: "new"})

	var got []string
	for _, v := range b.views() {
		got = append(got, fmt.Sprintf("%s %s %d", v.Name, v.Model, len(v.history.kept())))
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
	b.Set(probe.Description{Name: "a"})
	v = b.views()[0]
	equal(t, "when it is not any more", fmt.Sprint(v.State, " ", v.Results, " ", strings.Join(v.Why(), "; ")), "failing 2 too slow")
}

func TestRecordKeepsNoPointer(t *testing.T) {
	r := success("a", ms, 2*ms, 3*ms)
	want := report.JSONOf(r, nil)
	v := viewOf(r)
	r.Timeline.Frames[1].At = time.Hour
	r.Finish, r.Outcome = "changed", probe.Empty
	equal(t, "result", v.history.last().whole(), want)
}

// TestFailuresOutliveTheRing holds that the last failures are kept when the ring has forgotten them, and only once
// while they are in it.
func TestFailuresOutliveTheRing(t *testing.T) {
	b := newTestBoard("a")
	for i := range 40 {
		b.Record(broken("a", probe.Stalled, fmt.Sprintf("failure %d", i)))
	}
	equal(t, "failures in the ring", len(b.views()[0].history.kept()), 40)
	for range ringSize {
		b.Record(success("a", ms))
	}
	kept := b.views()[0].history.kept()
	equal(t, "results", len(kept), failedSize+ringSize)
	equal(t, "error of the oldest", *kept[0].Error, "failure 8")
	equal(t, "failures", len(b.views()[0].Failures()), failedSize)
}

func TestWhatAServerWritesIsCut(t *testing.T) {
	a := viewOf(long("a", 5000)).history.last().whole()
	lengths := []int{len(a.Arrivals), len(a.ITL), len(a.TokensPerFrame)}
	equal(t, "lengths", lengths, []int{maxList, maxList, maxList})
	equal(t, "warnings", a.Warnings, []string{
		"the status page keeps the first 4096 numbers of each list; the longest had 5000",
	})

	a = viewOf(broken("a", probe.Rejected, strings.Repeat("é", 5000))).history.last().whole()
	equal(t, "error", *a.Error, strings.Repeat("é", 999)+"…")
}

// TestMemoryIsBounded holds that a history keeps as many results as their lists have room for, and always the last.
func TestMemoryIsBounded(t *testing.T) {
	e := newEntry(long("a", 1000), nil)
	for name, test := range map[string]struct {
		bytes, want int
	}{
		"room for ten":         {10 * e.size(), 10},
		"a byte less":          {10*e.size() - 1, 9},
		"not even room for it": {0, 1},
	} {
		var h history
		for range 20 {
			h.add(e, share{results: ringSize, bytes: test.bytes})
		}
		equal(t, name, len(h.ring), test.want)
	}
	one, thousand := shareOf(1), shareOf(1000)
	equal(t, "share of one target", []int{one.results, one.bytes}, []int{ringSize, maxBytes})
	equal(t, "share of a thousand", []int{thousand.results, thousand.bytes}, []int{allResults / 1000, allBytes / 1000})
}

// TestManyTargetsShareTheMemory holds that a target keeps its share of results, and that what is shown of it says how
// long a time they are of if that is less than an hour.
func TestManyTargetsShareTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBoard()
		for n := range 1000 {
			b.Set(probe.Description{Name: strconv.Itoa(n)})
		}
		for range 100 {
			b.Record(success("7", ms, 2*ms))
			time.Sleep(time.Second)
		}
		b.Record(success("8", ms))
		const caption = "of the last hour (40 s where memory holds no more)"
		equal(t, "caption of the page", strings.Contains(get(t, b, "/").Body.String(), caption), true)
		for range 40 {
			b.Record(broken("9", probe.DNS, "no such host"))
		}
		for range 40 {
			b.Record(success("9", ms))
		}
		list := b.views()
		equal(t, "results", len(list[7].history.kept()), 40)
		equal(t, "results, with failures that the ring forgot", len(list[9].history.kept()), 40+40/4)
		equal(t, "time that they are of", []string{list[7].Span(), list[8].Span()}, []string{"40 s", "hour"})
	})
}

func TestBoardIsSafeForConcurrentUse(t *testing.T) {
	b := newTestBoard("a", "b")
	var all sync.WaitGroup
	for _, do := range []func(){
		func() { b.Record(success("a", ms, 2*ms)) },
		func() { b.Record(broken("b", probe.Timeout, "slow")) },
		func() { b.Set(probe.Description{Name: "b"}); b.Skipped("b", "late") },
		func() { b.Remove("b"); b.SetReady(true); b.SetRejection(&Rejection{}) },
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
			b.Set(probe.Description{Name: "a", Interval: test.interval, InFlight: func() (int, time.Time) {
				return min(1, int(test.inFlight)), began
			}})
			time.Sleep(test.inFlight)
			equal(t, name, b.views()[0].State, test.want)
		})
	}
}
