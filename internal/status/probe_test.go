package status

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// TestProbePage holds the pages of a probe with a gap beside the median one, of one that stalled, of one that was read
// late, of the median one itself, and of one whose stall is longer than the axis.
func TestProbePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBoard("a")
		record := func(r *probe.Result) *probe.Result {
			b.Record(r)
			time.Sleep(time.Second)
			return r
		}
		record(success("a", 90*ms, 100*ms))
		named := success("a", 110*ms, 120*ms, 130*ms, 140*ms)
		named.RequestID, named.ResponseID = "req-1", "chatcmpl-1"
		usual := record(named)
		gap := phased("a")
		gap.Warnings = []probe.Warning{{Kind: probe.WarnLateReads, Late: probe.LateReads{Delay: 180 * ms, NoE2EL: true}}}
		record(gap)
		failed := record(stalled("a"))
		readLate := record(late("a", 500*ms, 600*ms, 1500*ms, 2000*ms))
		long := stalled("a")
		long.Elapsed = 31 * time.Second
		record(long)
		pages := ""
		for _, r := range []*probe.Result{gap, failed, readLate, usual, long} {
			pages += textOf(get(t, b, "/probes/"+r.TraceID).Body.String()) + "\n"
		}
		golden.Equal(t, "testdata/probe.txt", pages)

		alone := get(t, boardOf(failed), "/probes/"+failed.TraceID).Body.String()
		equal(t, "a table without a median probe", strings.Contains(alone, "<table"), false)
	})
}

// TestResultsAreFoundByTraceID holds that slow results and failures are found when the ring has forgotten them.
func TestResultsAreFoundByTraceID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := success("a", ms, time.Second)
		failed := broken("a", probe.Timeout, "late")
		quick := success("a", ms, 2*ms, 3*ms)
		b := boardOf(slow, failed, quick)
		for n := range ringSize {
			time.Sleep(time.Second)
			b.Record(long("a", 4+n%2))
		}
		for name, r := range map[string]*probe.Result{"slow": slow, "failed": failed} {
			result := report.JSONOf(r, nil)
			if r == failed {
				result.Notable = []string{"timeout"}
			}
			want, err := json.Marshal(map[string]any{"status": "success", "data": result})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, name, get(t, b, "/api/v1/results/"+r.TraceID).Body.String(), string(want)+"\n")
		}
		const notFound = `{"error":"` + notInMemory + `","errorType":"not_found","status":"error"}` + "\n"
		for name, id := range map[string]string{"a result that is forgotten": quick.TraceID, "another id": "ABC"} {
			w := get(t, b, "/api/v1/results/"+id)
			equal(t, name, w.Body.String(), notFound)
			codes := []int{w.Code, get(t, b, "/probes/"+id).Code}
			equal(t, name+": codes of its JSON and of its page", codes, []int{404, 404})
		}
	})
}

// TestForgottenProbe holds in which form a client learns that a probe is not in memory.
func TestForgottenProbe(t *testing.T) {
	b := newTestBoard("a")
	mux := http.NewServeMux()
	b.Register(mux)
	for _, test := range []struct{ accept, contentType, text string }{
		{"text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8", "the trace id <b><bdi>&lt;b&gt;</bdi></b>"},
		{"application/json", "application/json; charset=utf-8", `"errorType":"not_found"`},
		{"*/*", "text/plain; charset=utf-8", notInMemory},
		{"", "text/plain; charset=utf-8", notInMemory},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/probes/%3Cb%3E", nil)
		r.Header.Set("Accept", test.accept)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		equal(t, test.accept+": code", w.Code, http.StatusNotFound)
		equal(t, test.accept+": type", w.Header().Get("Content-Type"), test.contentType)
		equal(t, test.accept+": text", strings.Contains(w.Body.String(), test.text), true)
	}
}
