package status

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/golden"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// TestProbePage shows a probe with a gap beside the median one, and a stalled one, which has links to nothing but
// what is there.
func TestProbePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBoard("a")
		record := func(r *probe.Result) *probe.Result {
			b.Record(r)
			time.Sleep(time.Second)
			return r
		}
		record(success("a", 90*ms, 100*ms))
		usual := record(success("a", 110*ms, 120*ms, 130*ms, 140*ms))
		gap := phased()
		gap.Warnings = []error{fmt.Errorf("the reader was late")}
		record(gap)
		failed := record(stalled(success("a", 500*ms, 1000*ms)))
		text := ""
		for _, r := range []*probe.Result{gap, failed, usual} {
			_, body, _ := strings.Cut(get(t, b, "/probes/"+r.TraceID).Body.String(), "</style>")
			text += body
		}
		golden.Equal(t, "testdata/probe.html", text)
		page := get(t, boardOf(failed), "/probes/"+failed.TraceID).Body.String()
		equal(t, "a table without a median", strings.Contains(page, "<table"), false)
	})
}

// TestOneResult holds that slow results and failures are found when the ring has forgotten them.
func TestOneResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, failed, quick := success("a", ms, time.Second), broken("a", probe.Timeout, "late"), success("a", ms, 2*ms, 3*ms)
		b := boardOf(slow, failed, quick)
		for n := range ringSize {
			time.Sleep(time.Second)
			b.Record(long("a", 4+n%2))
		}
		for name, r := range map[string]*probe.Result{"slow": slow, "failed": failed} {
			want, err := json.Marshal(map[string]any{"status": "success", "data": report.JSONOf(r)})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, name, get(t, b, "/api/v1/results/"+r.TraceID).Body.String(), string(want)+"\n")
		}
		for _, id := range []string{quick.TraceID, "ABC"} {
			w := get(t, b, "/api/v1/results/"+id)
			equal(t, id, fmt.Sprintf("%d %s", w.Code, w.Body), `404 {"error":"`+forgotten+`","errorType":"not_found","status":"error"}`+"\n")
			equal(t, id+": code of its page", get(t, b, "/probes/"+id).Code, w.Code)
		}
	})
}
