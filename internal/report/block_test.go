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

	"github.com/llm-prober/prober/internal/golden"
	"github.com/llm-prober/prober/internal/probe"
)

// TestBlocksAreThoseOfRecordedRuns holds that lines of a recorded block are in ours, in their
// order and to the column, whatever their values are.
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

func step32() Summary {
	samples := answers("vllm-a", 40, 0.3146, 0.0502, 0.05, 7)
	for i, o := range []probe.Outcome{probe.RateLimited, probe.Timeout, probe.RateLimited, probe.WrongAnswer} {
		samples = append(samples, failure("vllm-a", 40+i, o))
	}
	s := Summarize(samples)
	s.Load, s.AtOnce, s.PromptTokens = "32 at once", 32, 21000
	s.Skipped[probe.SkipOverlap] = 3
	return s
}

// stored returns a summary of histograms. Its buckets reach from 1 − share to 1 + share times their values.
func stored(share Number) Summary {
	s := Summary{
		Target: "vllm-a", Start: noon(), Duration: time.Hour,
		Outcomes: map[probe.Outcome]int{probe.OK: 360}, Input: 360 * 21000, Output: 36000,
	}
	d := DistributionOf([]float64{0.25, 0.5, 1})
	for i := range d.Quantiles {
		q := &d.Quantiles[i]
		q.Low, q.High = q.Value*(1-share), q.Value*(1+share)
	}
	d.Count = 360
	s.TTFT, s.TPOT, s.E2EL = d, d, d
	return s
}

func TestBlocks(t *testing.T) {
	wide := stored(0.5)
	wide.TTFT.Quantiles[4].High = Number(math.Inf(1))
	failed := Summarize([]Sample{failure("gateway", 0, probe.Connect), failure("gateway", 1, probe.Connect)})
	failed.Load = "inf QPS"
	untold := stored(0.02)
	untold.Output = 0
	golden.Equal(t, "testdata/blocks.txt", strings.Join([]string{
		Block(step32()), Block(failed), Block(untold), Block(wide), Block(Summary{}),
		overview([]Summary{step32(), step32()}).text(), overview([]Summary{step32(), failed}).text(),
	}, "\n"))
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
