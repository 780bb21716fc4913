package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// TestResultJSON holds the JSON of a result with most of its values, and of one without: absent is null.
func TestResultJSON(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	read := func(at time.Duration, read uint32, n int, delay time.Duration) timing.Frame {
		return timing.Frame{At: at, Read: read, N: n, Kernel: true, Delay: delay}
	}
	good := &probe.Result{
		Target: "t", Group: "g", Model: "m", API: "openai-chat", Prompt: "cold", Round: 7, Due: start.Add(-ms),
		Outcome: probe.OK, Status: 200, Finish: "length", Source: probe.FromUsage, Timestamps: probe.ByKernel,
		TraceID: "abc", Elapsed: time.Second,
		Usage:    wire.Usage{Prompt: wire.Tokens(80), Cached: wire.Tokens(0), Output: wire.Tokens(5)},
		Wording:  probe.Wording{Characters: 40, Run: 0.25, Distinct: 0.75, Replaced: 0.125},
		Warnings: []probe.Warning{{Kind: "warned"}},
		Start:    start,
		Timeline: timing.Timeline{
			Phases: timing.Phases{Connect: 10 * ms, Wrote: 30 * ms, Header: 50 * ms},
			Frames: []timing.Frame{
				read(500*ms, 1, 1, 2*ms), read(600*ms, 2, 2, 2*ms), read(700*ms, 3, 1, 250*ms), read(700*ms, 3, 1, 250*ms),
			},
			FinishedAt: 700 * ms,
		},
	}
	failed := &probe.Result{
		Target: "t", Group: "t", Prompt: "cold", Due: start, Source: probe.FromNothing,
		Outcome: probe.Connect, Err: errors.New("refused"),
		Start: start,
	}
	for path, result := range map[string]*probe.Result{
		"testdata/result_ok.json": good, "testdata/result_failed.json": failed,
	} {
		var text strings.Builder
		if err := Encode(&text, "  ", JSONOf(result, nil)); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, path, text.String())
	}
}
