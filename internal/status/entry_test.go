package status

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// TestAResultIsKeptWhole holds that results come out as they came in, with the labels of their target, and share no
// memory with what the caller has.
func TestAResultIsKeptWhole(t *testing.T) {
	bursts := success("a", ms, 2*ms, 3*ms)
	bursts.Timeline.Frames[2].At = 2 * ms
	bursts.Timeline.Frames[2].Read = bursts.Timeline.Frames[1].Read
	for name, r := range map[string]*probe.Result{
		"a token in each frame": success("a", ms, 2*ms, 3*ms),
		"frames in one read":    bursts,
		"late reads":            late("a", 300*ms, 400*ms, 500*ms, 600*ms, 700*ms, 800*ms),
		"a stall":               stalled("a"),
		"no token":              broken("a", probe.DNS, "no such host"),
	} {
		want := report.JSONOf(r, nil)
		if r.Outcome != probe.OK {
			want.Notable = []string{string(r.Outcome)}
		}
		want.Labels = map[string]string{"team": "search"}
		b := newTestBoard()
		b.Set(probe.Description{Prompt: "cold", Name: "a", Labels: want.Labels})
		b.Record(r)
		r.Finish, r.Outcome = "changed", probe.Empty
		for i := range r.Timeline.Frames {
			r.Timeline.Frames[i].At = time.Hour
		}
		equal(t, name, *b.views()[0].Last.ResultJSON(), want)
	}
}

func TestWhatAServerWritesIsCut(t *testing.T) {
	a := viewOf(long("a", 5000)).Last.ResultJSON()
	lengths := []int{len(a.Arrivals), len(a.ITL), len(a.TokensPerFrame)}
	equal(t, "lengths", lengths, []int{maxList, maxList, maxList})
	equal(t, "warnings", a.Warnings, []string{
		"the status page keeps the first 4096 numbers of each list; the longest had 5000",
	})

	a = viewOf(broken("a", probe.Rejected, strings.Repeat("é", 5000))).Last.ResultJSON()
	equal(t, "error", *a.Error, strings.Repeat("é", 999)+"…")
}
