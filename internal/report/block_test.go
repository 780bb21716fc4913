package report

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// A found block is what the scripts that people have read of one.
type foundBlock struct {
	closed bool // by a line of its own
	lines  []string
	rows   map[string]string
}

// findBlocks reads blocks as those scripts do.
func findBlocks(t *testing.T, text string) []foundBlock {
	t.Helper()
	header := regexp.MustCompile(`^=+ (Serving|Endpoint: .+) Benchmark Result =+$`)
	end := regexp.MustCompile(`^=+$`)
	section := regexp.MustCompile(`^-+[^-].*[^-]-+$`)
	row := regexp.MustCompile(`^(.+?):\s+([0-9.]+|nan)\s*$`)
	var list []foundBlock
	within := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if header.MatchString(line) {
			list, within = append(list, foundBlock{rows: map[string]string{}}), true
		}
		if !within {
			continue
		}
		b := &list[len(list)-1]
		b.lines = append(b.lines, line)
		switch parts := row.FindStringSubmatch(line); {
		case parts != nil:
			b.rows[parts[1]] = parts[2]
		case end.MatchString(line):
			b.closed, within = true, false
		case line == "" || strings.HasPrefix(line, "["): // Endpoint blocks have no end
			within = false
		case !header.MatchString(line) && !section.MatchString(line):
			t.Errorf("neither row nor section: %q", line)
		}
	}
	return list
}

func blockOf(t *testing.T, s Summary) string {
	t.Helper()
	var b strings.Builder
	if err := WriteBlock(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// recordedRows are those that every recorded block has.
var recordedRows = []string{
	"Successful requests", "Benchmark duration (s)", "Total input tokens", "Total generated tokens", "Request throughput (req/s)",
	"Output token throughput (tok/s)", "Total Token throughput (tok/s)", "Mean TTFT (ms)", "Median TTFT (ms)", "P99 TTFT (ms)",
	"Mean TPOT (ms)", "Median TPOT (ms)", "P99 TPOT (ms)", "Mean ITL (ms)", "Median ITL (ms)", "P99 ITL (ms)",
}

// recorded are the texts of recorded runs: one of ours in their format, and
// those of the folder that PROBER_RUNS names.
func recorded(t *testing.T) map[string]string {
	t.Helper()
	names := []string{filepath.Join("testdata", "recorded_format.txt")}
	if folder := os.Getenv("PROBER_RUNS"); folder != "" {
		more, err := filepath.Glob(filepath.Join(folder, "*.txt"))
		if err != nil || len(more) == 0 {
			t.Fatalf("no recorded runs in PROBER_RUNS=%s (%v)", folder, err)
		}
		names = append(names, more...)
	}
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(text)
	}
	return texts
}

func TestWhatReadsRecordedBlocksReadsOurs(t *testing.T) {
	total := 0
	for name, text := range recorded(t) {
		blocks := findBlocks(t, text)
		if want := strings.Count(text, "Benchmark Result"); len(blocks) != want || want == 0 {
			t.Errorf("%s: %d of %d blocks read", name, len(blocks), want)
		}
		for i, b := range blocks {
			requireRows(t, name+" "+strconv.Itoa(i), b)
		}
		total += len(blocks)
	}
	t.Logf("%d recorded blocks read", total)
	if os.Getenv("PROBER_RUNS") == "" {
		t.Log("PROBER_RUNS names no folder: only testdata was read")
	}

	s := step32()
	s.Warnings = append(s.Warnings, "not a row: 3")
	ours := findBlocks(t, blockOf(t, s)+"\n"+blockOf(t, Summarize(nil)))
	if len(ours) != 2 {
		t.Fatalf("%d of our 2 blocks read", len(ours))
	}
	for i, b := range ours {
		requireRows(t, "ours "+strconv.Itoa(i), b)
	}
	if _, ok := ours[0].rows["warning: not a row"]; ok {
		t.Error("a warning is within the block")
	}
}

func requireRows(t *testing.T, name string, b foundBlock) {
	t.Helper()
	for _, label := range recordedRows {
		if b.rows[label] == "" {
			t.Errorf("%s has no %q", name, label)
		}
	}
}

// The blocks of Endpoints are another tool's, with other spaces at the end of
// lines.
func TestRecordedLinesAreWrittenByteForByte(t *testing.T) {
	for name, text := range recorded(t) {
		for _, b := range findBlocks(t, text) {
			if b.closed {
				if diff := cmp.Diff(strings.Join(b.lines, "\n")+"\n", rewritten(t, b)); diff != "" {
					t.Fatalf("%s (-recorded +ours):\n%s", name, diff)
				}
			}
		}
	}
}

// rewritten is a block written by us from the values that were read.
func rewritten(t *testing.T, b foundBlock) string {
	t.Helper()
	var ours block
	for _, line := range b.lines {
		label, value, isRow := strings.Cut(line, ": ")
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		switch {
		case isRow && err != nil:
			t.Fatalf("%q: %v", line, err)
		case isRow && strings.Contains(value, "."):
			ours.row(label+":", hundredths(Number(v)))
		case isRow:
			ours.row(label+":", int(v))
		default:
			ours.section(strings.Trim(line, "-="), line[:1])
		}
	}
	return ours.String()
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

// stored is a summary of histograms whose buckets are so wide around their
// values.
func stored(share Number) Summary {
	s := Summary{
		Target: "vllm-a", Start: noon(), Duration: time.Hour, Outcomes: map[probe.Outcome]int{probe.OK: 360}, Input: 360 * 21000, Output: 36000,
	}
	d := Spread([]float64{0.25, 0.5, 1})
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
	golden(t, "blocks.txt", strings.Join([]string{
		blockOf(t, step32()), blockOf(t, failed), blockOf(t, untold), blockOf(t, wide), blockOf(t, Summary{}),
	}, "\n"))
}

func TestWriteErrorsAreReturned(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"waterfall":  func(w io.Writer) error { return Waterfall(w, stalled(), 80) },
		"block":      func(w io.Writer) error { return WriteBlock(w, step32()) },
		"comparison": func(w io.Writer) error { return WriteComparison(w, Comparison{}, 80) },
		"json":       func(w io.Writer) error { return WriteJSON(w, Document{}) },
		"markdown":   func(w io.Writer) error { return WriteMarkdown(w, Document{Source: "x"}) },
	} {
		read, w := io.Pipe()
		if err := read.Close(); err != nil {
			t.Fatal(err)
		}
		if err := write(w); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: error %v, want that of the writer", name, err)
		}
	}
}
