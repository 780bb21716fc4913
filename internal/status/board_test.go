package status

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

const ms = time.Millisecond

// success is an answer whose token frames come at the given times since its
// start, which is now, one token each.
func success(target string, at ...time.Duration) *probe.Result {
	r := &probe.Result{
		Target: target, Group: "g", Model: "m", API: "openai-chat", Prompt: "cold",
		Outcome: probe.OK, Status: 200, Finish: "length", Source: probe.FromUsage,
		Usage:    wire.Usage{Prompt: wire.Tokens(21000), Output: wire.Tokens(len(at))},
		Timeline: probe.Timeline{Start: time.Now()},
	}
	r.Due = r.Start
	for i, t := range at {
		r.Tokens = append(r.Tokens, probe.Arrival{At: t, Read: uint32(i + 1), N: 1})
	}
	if len(at) > 0 {
		r.Timeline.Finish = at[len(at)-1]
		r.Elapsed = r.Timeline.Finish
	}
	return r
}

func broken(target string, o probe.Outcome, text string) *probe.Result {
	return &probe.Result{
		Target: target, Outcome: o, Err: errors.New(text), Elapsed: 5 * ms,
		Due: time.Now(), Timeline: probe.Timeline{Start: time.Now()},
	}
}

func newTestBoard(targets ...string) *Board {
	b := NewBoard(time.Now(), "v1", nil)
	for _, name := range targets {
		b.Set(probe.Description{Name: name, Interval: 10 * time.Second})
	}
	return b
}

// get asks the board's own mux.
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

// outcomes counts everything the board keeps of a target by its outcome.
func outcomes(b *Board, target string) map[probe.Outcome]int {
	n := map[probe.Outcome]int{}
	for _, s := range b.snapshots() {
		for _, e := range s.kept {
			if s.target.Name == target {
				n[e.account.Outcome]++
			}
		}
	}
	return n
}

func TestRecordDropsWhatIsNotOurs(t *testing.T) {
	b := newTestBoard("a", "gone")
	b.Remove("gone")
	b.Remove("never there")

	b.Record(success("a", ms))
	b.Record(success("gone", ms))
	b.Record(success("unknown", ms))
	b.Record(&probe.Result{Target: "a", Outcome: probe.Canceled})
	b.Skipped("unknown", "overlap")

	if got := len(b.snapshots()); got != 1 {
		t.Errorf("%d targets, want 1", got)
	}
	if diff := cmp.Diff(map[probe.Outcome]int{probe.OK: 1}, outcomes(b, "a")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestRecordKeepsNoPointer(t *testing.T) {
	b := newTestBoard("a")
	r := success("a", ms, 2*ms, 3*ms)
	want := r.Account()

	b.Record(r)
	r.Timeline.Tokens[1].At = time.Hour
	r.Finish, r.Outcome = "changed", probe.Empty

	if diff := cmp.Diff(want, b.snapshots()[0].kept[0].account); diff != "" {
		t.Errorf("account (-want +got):\n%s", diff)
	}
}

func TestAnswersOfTheSameFramesShareTheirList(t *testing.T) {
	b := newTestBoard("a")
	for _, r := range []*probe.Result{success("a", ms, 2*ms), success("a", ms, 3*ms), success("a", ms)} {
		b.Record(r)
	}

	kept := b.snapshots()[0].kept
	lists := [][]int{kept[0].account.TokensPerFrame, kept[1].account.TokensPerFrame, kept[2].account.TokensPerFrame}
	if diff := cmp.Diff([][]int{{1, 1}, {1, 1}, {1}}, lists); diff != "" {
		t.Error(diff)
	}
	if &lists[0][0] != &lists[1][0] {
		t.Error("the first two have a list each")
	}
}

func TestFailuresOutliveTheRing(t *testing.T) {
	b := newTestBoard("a")
	for i := range 40 {
		b.Record(broken("a", probe.Stalled, fmt.Sprintf("failure %d", i)))
	}
	for range ringSize {
		b.Record(success("a", ms))
	}

	want := map[probe.Outcome]int{probe.OK: ringSize, probe.Stalled: failedSize}
	if diff := cmp.Diff(want, outcomes(b, "a")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if got := *b.snapshots()[0].kept[0].account.Error; got != "failure 8" {
		t.Errorf("oldest is %q, want the 32nd failure before the last", got)
	}
}

func TestFailuresInTheRingAreKeptOnce(t *testing.T) {
	b := newTestBoard("a")
	for range 50 {
		b.Record(broken("a", probe.Empty, "no token"))
	}
	if diff := cmp.Diff(map[probe.Outcome]int{probe.Empty: 50}, outcomes(b, "a")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestLongAnswersAreCutAndSaySo(t *testing.T) {
	b := newTestBoard("a")
	at := make([]time.Duration, 5000)
	for i := range at {
		at[i] = time.Duration(i+1) * ms
	}

	b.Record(success("a", at...))

	a := b.snapshots()[0].kept[0].account
	if got := []int{len(a.ChunkGaps), len(a.ITL), len(a.TokensPerFrame)}; !cmp.Equal(got, []int{maxList, maxList, maxList}) {
		t.Errorf("lists of %v numbers, want %d each", got, maxList)
	}
	want := []string{"the status page keeps the first 4096 numbers of each list; the longest had 5000"}
	if diff := cmp.Diff(want, a.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	b := newTestBoard("a")
	at := make([]time.Duration, maxList+1)
	for i := range at {
		at[i] = time.Duration(i+1) * ms
	}
	for range 300 {
		b.Record(success("a", at...))
	}

	if got, want := len(b.snapshots()[0].kept), maxNumbers/(3*maxList); got != want {
		t.Errorf("%d results kept, want %d", got, want)
	}
}

// TestManyTargetsShareTheMemory records two minutes of each of 1,000 targets; one
// then has more than its share, and says so.
func TestManyTargetsShareTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for n := range 1000 {
			names = append(names, fmt.Sprint(n))
		}
		b := newTestBoard(names...)
		for range 100 {
			b.Record(success("7", ms, 2*ms))
			time.Sleep(time.Second)
		}
		b.Record(success("8", ms))

		list := b.snapshots()
		if got := len(list[7].kept); got != 40 {
			t.Errorf("%d results kept, want 40", got)
		}
		if got := []string{list[7].windowWords(), list[8].windowWords()}; !cmp.Equal(got, []string{span(40 * time.Second), "hour"}) {
			t.Errorf("results of the last %q", got)
		}
	})
}

// TestOneResultIsAlwaysKept has more targets than there is room for.
func TestOneResultIsAlwaysKept(t *testing.T) {
	h := newHistory(probe.Description{})
	for range 3 {
		h.add(newEntry(success("a", ms, 2*ms), nil, time.Now()), shareOf(allNumbers+1))
	}
	if len(h.ring) != 1 {
		t.Errorf("%d results kept, want 1", len(h.ring))
	}
}

func TestTextsAreCut(t *testing.T) {
	b := newTestBoard("a")
	b.Record(broken("a", probe.Rejected, strings.Repeat("é", 5000)))

	want := strings.Repeat("é", 500) + "…"
	if got := *b.snapshots()[0].kept[0].account.Error; got != want {
		t.Errorf("error of %d bytes, want %d", len(got), len(want))
	}
}

func TestSetKeepsResultsAndOrder(t *testing.T) {
	b := newTestBoard("b", "a")
	b.Record(success("b", ms))
	b.Set(probe.Description{Name: "b", Model: "new"})

	var got []string
	for _, s := range b.snapshots() {
		got = append(got, fmt.Sprintf("%s %s %d", s.target.Name, s.target.Model, len(s.kept)))
	}
	if diff := cmp.Diff([]string{"b new 1", "a  0"}, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

func TestPasswordsAreNotKept(t *testing.T) {
	for raw, want := range map[string]string{
		"http://host/v1":         "http://host/v1",
		"http://me:secret@host/": "http://me:xxxxx@host/",
		"http://me@host/":        "http://me@host/",
		"::not a url":            "::not a url",
	} {
		b := NewBoard(time.Now(), "v1", nil)
		b.Set(probe.Description{Name: "a", URL: raw})
		if got := b.snapshots()[0].target.URL; got != want {
			t.Errorf("%s is kept as %s, want %s", raw, got, want)
		}
	}
}

func TestBoardIsSafeForConcurrentUse(t *testing.T) {
	b := newTestBoard("a", "b")
	var all sync.WaitGroup
	for _, do := range []func(){
		func() { b.Record(success("a", ms, 2*ms)) },
		func() { b.Record(broken("b", probe.Timeout, "slow")) },
		func() { b.Set(probe.Description{Name: "b"}); b.Skipped("b", "late") },
		func() { b.Remove("b"); b.SetReady(true) },
		func() { get(t, b, "/"); get(t, b, "/api/v1/results"); get(t, b, "/api/v1/targets") },
	} {
		all.Go(func() {
			for range 50 {
				do()
			}
		})
	}
	all.Wait()
	if got := outcomes(b, "a")[probe.OK]; got != 50 {
		t.Errorf("%d results, want 50", got)
	}
}

func TestStates(t *testing.T) {
	quick := func() *probe.Result { return success("a", 100*ms, 200*ms) }
	slow := func() *probe.Result { return success("a", time.Second, 8*time.Second) }
	for _, test := range []struct {
		name     string
		interval time.Duration
		results  []func() *probe.Result
		inFlight time.Duration
		want     state
	}{
		{"nothing yet", 10 * time.Second, nil, 0, waiting},
		{"the first is on its way", 10 * time.Second, nil, 10 * time.Second, waiting},
		{"the first does not come", 10 * time.Second, nil, 10*time.Second + 1, hanging},
		{"good", 10 * time.Second, []func() *probe.Result{quick}, 0, fine},
		{"half an interval is not too long", 10 * time.Second, []func() *probe.Result{quick}, 5 * time.Second, fine},
		{"longer is", 10 * time.Second, []func() *probe.Result{quick}, 5*time.Second + 1, hanging},
		{"ten seconds, however long the interval", time.Hour, []func() *probe.Result{quick}, 10*time.Second + 1, hanging},
		{"no interval known", 0, []func() *probe.Result{quick}, 10 * time.Second, fine},
		{"slow is not hanging", 10 * time.Second, []func() *probe.Result{slow}, 16 * time.Second, fine},
		{"twice as slow as ever is", 10 * time.Second, []func() *probe.Result{slow}, 16*time.Second + 1, hanging},
		{"failed", 10 * time.Second, []func() *probe.Result{quick, timedOut}, 0, failing},
		{"failed before, hangs now", 10 * time.Second, []func() *probe.Result{quick, timedOut}, 6 * time.Second, hanging},
		{"good again", 10 * time.Second, []func() *probe.Result{timedOut, quick}, 0, fine},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := NewBoard(began, "v1", nil)
				b.Set(probe.Description{Name: "a", Interval: test.interval, InFlight: func() (int, time.Time) {
					if test.inFlight == 0 {
						return 0, time.Time{}
					}
					return 1, began
				}})
				for _, r := range test.results {
					b.Record(r())
				}
				time.Sleep(test.inFlight)
				if got := b.snapshots()[0].state; got != test.want {
					t.Errorf("state %s, want %s", got, test.want)
				}
			})
		})
	}
}

func timedOut() *probe.Result { return broken("a", probe.Timeout, "too slow") }

func BenchmarkRecord(b *testing.B) {
	board := newTestBoard("a")
	at := make([]time.Duration, 100)
	for i := range at {
		at[i] = time.Duration(i+1) * ms
	}
	r := success("a", at...)
	b.ReportAllocs()
	for b.Loop() {
		board.Record(r)
	}
}
