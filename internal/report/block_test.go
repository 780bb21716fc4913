package report

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/wire"
)

// TestBlocksAreThoseOfRecordedRuns holds that the lines of a recorded block are in ours, in their order and to the
// column, whatever their values are.
func TestBlocksAreThoseOfRecordedRuns(t *testing.T) {
	value := regexp.MustCompile(`([0-9.]+|nan) *$`)
	shape := func(line string) string {
		line = strings.TrimSuffix(line, "\n")
		return value.ReplaceAllStringFunc(line, func(v string) string { return strings.Repeat("#", len(v)) })
	}
	text, err := os.ReadFile(filepath.Join("testdata", "recorded_format.txt"))
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Split(string(text), "\n")
	first := slices.Index(recorded, "============ Serving Benchmark Result ============")
	recorded = recorded[first : slices.Index(recorded, strings.Repeat("=", 50))+1]
	for _, s := range []Summary{step32(), Summarize(nil)} {
		ours := strings.Split(Block(s), "\n")
		for _, line := range recorded {
			for len(ours) > 0 && shape(ours[0]) != shape(line) {
				ours = ours[1:]
			}
			if len(ours) == 0 {
				t.Fatalf("no line like %q", line)
			}
		}
	}
}

// step32 returns a step of a bench, whose requests ended in another order than they started. Some failed, in four ways,
// some were canceled or skipped, and one has unknown tokens. One objective was met, the other one missed.
func step32() Summary {
	samples := answers("vllm-a", 40, 0.3146, 0.0502, 0.05, 7)
	for i := range samples {
		s := &samples[i]
		s.Judged = []Judgement{{Good: 1, Value: s.Latencies.TTFT}, {Good: i % 2, Bad: 1 - i%2, Value: s.Latencies.E2EL}}
	}
	unknown := &samples[5]
	unknown.Output, unknown.TokenITLs = wire.Count{}, nil
	unknown.Latencies.TPOT, unknown.Latencies.ITL = noValue, noValue
	for i, f := range []Sample{
		{Outcome: probe.ServerError, Error: "HTTP 502", Hint: "look at the proxy"},
		{Outcome: probe.ServerError, Error: "HTTP 500: a", Hint: "look at the server"},
		{Outcome: probe.RateLimited},
		{Outcome: probe.ServerError, Error: "HTTP 500: \x1b[2Jb", Hint: "look at the server"},
		{Outcome: probe.WrongAnswer},
		{Outcome: probe.Canceled, Error: "interrupted"},
	} {
		failed := failure("vllm-a", 40+i, f.Outcome)
		failed.Error, failed.Hint = f.Error, f.Hint
		failed.Judged = []Judgement{{Bad: 1, Value: noValue}, {Bad: 1, Value: noValue}}
		if f.Outcome.Refusal() {
			failed.Judged = []Judgement{{Value: noValue}, {Value: noValue}}
		}
		samples = append(samples, failed)
	}
	slices.Reverse(samples)
	s := Summarize(samples,
		probe.Objective{Signal: probe.SignalTTFT, Limit: time.Second, Goal: 0.9},
		probe.Objective{Name: "quick", Signal: probe.SignalE2EL, Limit: time.Second, Goal: 0.95})
	s.Load, s.AtOnce, s.PromptTokens = "32 at once", 32, 21000
	s.Skipped[probe.SkipOverlap] = 3
	return s
}

// stored returns a summary of histograms of 360 requests, whose output is unknown. The buckets of TTFT are narrow,
// those of E2EL are wide and the last one has no end. There is no ITL.
func stored() Summary {
	s := Summary{
		Target: "vllm-a", Start: noon(), Duration: time.Hour,
		Outcomes: map[probe.Outcome]int{probe.OK: 360}, InputTokens: 360 * 21000,
	}
	withBuckets := func(share stats.Number) stats.Distribution {
		d := stats.DistributionOf([]float64{0.25, 0.5, 1})
		for i := range d.Quantiles {
			q := &d.Quantiles[i]
			q.Low, q.High = q.Value*(1-share), q.Value*(1+share)
		}
		d.Count = 360
		return d
	}
	s.TTFT, s.TPOT, s.E2EL = withBuckets(0.02), withBuckets(0.05), withBuckets(0.5)
	s.E2EL.Quantiles[4].High = stats.Number(math.Inf(1))
	return s
}

func TestWriteErrorsAreReturned(t *testing.T) {
	read, w := io.Pipe()
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	if err := document().Write(w, "markdown", 0); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want that of the writer", err)
	}
}
