package status

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

func TestRecordKeepsNoPointer(t *testing.T) {
	r := success("a", ms, 2*ms, 3*ms)
	want := report.JSONOf(r, nil)
	v := viewOf(r)
	r.Timeline.Frames[1].At = time.Hour
	r.Finish, r.Outcome = "changed", probe.Empty
	equal(t, "result", *v.Last.ResultJSON(), want)
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
