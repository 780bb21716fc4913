package report

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// TestResultJSON holds the JSON of a result, key by key: absent is null.
func TestResultJSON(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	read := func(at time.Duration, read uint32, n int, delay time.Duration) probe.Arrival {
		return probe.Arrival{At: at, Read: read, N: n, Kernel: true, Delay: delay}
	}
	good := &probe.Result{
		Target: "t", Group: "g", Model: "m", API: "openai-chat", Prompt: "cold", Round: 7, Due: start.Add(-ms),
		Outcome: probe.OK, Status: 200, Finish: "length", Source: probe.FromUsage, Timestamps: probe.ByKernel,
		TraceID: "abc", Elapsed: time.Second,
		Usage:    wire.Usage{Prompt: wire.Tokens(80), Cached: wire.Tokens(0), Output: wire.Tokens(5)},
		Warnings: []error{errors.New("warned")},
		Timeline: probe.Timeline{
			Start:  start,
			Phases: probe.Phases{Connect: 10 * ms, Wrote: 30 * ms, Header: 50 * ms},
			Tokens: []probe.Arrival{
				read(500*ms, 1, 1, 2*ms), read(600*ms, 2, 2, 2*ms), read(700*ms, 3, 1, 250*ms), read(700*ms, 3, 1, 250*ms),
			},
			FinishedAt: 700 * ms,
		},
	}
	failed := &probe.Result{
		Target: "t", Group: "t", Prompt: "cold", Due: start, Source: probe.FromNothing,
		Outcome: probe.Connect, Err: errors.New("refused"),
		Timeline: probe.Timeline{Start: start},
	}
	for name, test := range map[string]struct {
		result *probe.Result
		want   string
	}{
		"a good one": {good, `{"target":"t","group":"g","model":"m","api":"openai-chat","prompt":"cold","outcome":"ok",` +
			`"error":null,"hint":null,"http_status":200,` +
			`"start":"2026-01-02T03:04:05Z","schedule_delay_seconds":0.001,"ttft_seconds":0.5,` +
			`"server_ttft_seconds":0.47,"ttfat_seconds":null,"tpot_seconds":0.05,` +
			`"e2el_seconds":0.7,"max_gap_seconds":0.1,"elapsed_seconds":1,` +
			`"arrivals_seconds":[0.5,0.6,0.7,0.7],"uncertain_per_frame":[false,false,true,false],` +
			`"itl_seconds":[0.05,0.05,0.05,0.05],"tokens_per_frame":[1,2,1,1],` +
			`"joined_per_frame":[false,false,true,true],` +
			`"phases_seconds":{"dns":null,"connect":0.01,"tls":null,"write":0.02,"headers":0.02},` +
			`"usage":{"prompt":80,"cached":0,"output":5,"reasoning":null},"cache":"unknown",` +
			`"token_source":"usage","frames":4,"coalesced_frames":1,"joined_tokens":2,"timestamps":"kernel",` +
			`"taint":null,"read_delay_max_seconds":0.25,` +
			`"finish_reason":"length","round":7,"trace_id":"abc","retry_after_seconds":null,"warnings":["warned"]}`},
		"a failed one": {failed, `{"target":"t","group":"t","model":null,"api":null,"prompt":"cold","outcome":"connect",` +
			`"error":"refused","hint":"check host and port in the URL, and that the server runs",` +
			`"http_status":null,` +
			`"start":"2026-01-02T03:04:05Z","schedule_delay_seconds":0,"ttft_seconds":null,` +
			`"server_ttft_seconds":null,"ttfat_seconds":null,"tpot_seconds":null,` +
			`"e2el_seconds":null,"max_gap_seconds":null,"elapsed_seconds":0,"arrivals_seconds":null,` +
			`"uncertain_per_frame":null,"itl_seconds":null,"tokens_per_frame":null,"joined_per_frame":null,` +
			`"phases_seconds":{"dns":null,"connect":null,"tls":null,"write":null,"headers":null},` +
			`"usage":{"prompt":null,"cached":null,"output":null,"reasoning":null},"cache":"unknown",` +
			`"token_source":"none","frames":0,"coalesced_frames":0,"joined_tokens":0,"timestamps":null,` +
			`"taint":null,"read_delay_max_seconds":null,` +
			`"finish_reason":null,"round":0,"trace_id":"","retry_after_seconds":null,"warnings":[]}`},
	} {
		got, err := json.Marshal(JSONOf(test.result))
		if diff := cmp.Diff(test.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
