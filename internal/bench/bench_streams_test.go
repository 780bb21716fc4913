//go:build linux

package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// For other streams than the usual ones, with -args.
var (
	streamsFlag = flag.String("streams", "1,16,64,256,512,1024", "numbers of streams at once")
	gapFlag     = flag.Duration("gap", 20*time.Millisecond, "time between two tokens of a stream")
	partsFlag   = flag.Int("parts", 1, "parts of the gap at which streams get their token: 1 for all together, as a batch does")
)

// BenchmarkStreams finds what the bench can carry: so many streams at once from a
// server that is paced by the clock, in a process of its own, through sockets of
// this machine. Beside it, in the same run, goroutines that do nothing but Read
// and count. Each number of streams takes some seconds: -benchtime 1x is enough.
//
// A gap error is |chunk gap − the server's gap|: the server's own lateness is in
// it, so that it is an upper bound.
func BenchmarkStreams(b *testing.B) {
	for text := range strings.SplitSeq(*streamsFlag, ",") {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			at := pace{gap: *gapFlag, parts: *partsFlag, tokens: 100}
			for range b.N {
				bare := measureBare(b, at, n)
				m := measureBench(b, at, Load{Concurrency: n, Requests: 2 * n})
				m.report(b)
				b.ReportMetric(inMS(p99(bare.errors)), "bare-gap-error-p99-ms")
				b.ReportMetric(1e3*inMS(bare.perFrame()), "bare-cpu-ms/1k")
				b.ReportMetric(float64(m.perFrame())/float64(bare.perFrame()), "cpu-of-bare")
			}
		})
	}
}

// BenchmarkBurst finds how late the last of many requests begins that are due at
// once, from a server that is silent meanwhile.
func BenchmarkBurst(b *testing.B) {
	for _, n := range []int{64, 512, 2048} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				m := measureBench(b, pace{gap: 3 * time.Second, parts: 1, tokens: 2}, Load{Requests: n})
				b.ReportMetric(inMS(median(m.late)), "late-p50-ms")
				b.ReportMetric(inMS(p99(m.late)), "late-p99-ms")
				b.ReportMetric(inMS(m.cpu)/float64(n), "cpu-ms/request")
				b.ReportMetric(float64(m.peak)/1e3, "peak-MB")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// A measured is what one client made of a paced server.
type measured struct {
	pace     pace
	streams  int
	frames   int // token frames
	together int // of these, that came in one read with the one before
	server   pacedReport
	took     time.Duration // of the step, beginnings included
	cpu      time.Duration // of the client
	peak     int           // memory of the client at most, in kB; 0 if the kernel does not say
	tpot     []time.Duration
	ttft     []time.Duration
	gaps     []time.Duration // between chunks
	errors   []time.Duration // of the gaps
	late     []time.Duration
	latency  SchedulingLatency
}

// perFrame is the client's CPU time for a token frame, everything included.
func (m *measured) perFrame() time.Duration { return m.cpu / time.Duration(m.frames) }

// report tells b what was measured.
func (m *measured) report(b *testing.B) {
	b.Helper()
	asked := float64(m.streams) / m.pace.gap.Seconds()
	reached := float64(m.frames) / m.took.Seconds()
	for unit, value := range map[string]float64{
		"asked-tok/s":        asked,
		"tok/s":              reached,
		"reached-%":          100 * reached / asked,
		"cpu-ms/1k":          1e3 * inMS(m.perFrame()),
		"2cores-tok/s":       2 / m.perFrame().Seconds(),
		"gap-error-p50-ms":   inMS(median(m.errors)),
		"gap-error-p99-ms":   inMS(p99(m.errors)),
		"ttft-p50-ms":        inMS(median(m.ttft)),
		"tpot-p50-ms":        inMS(median(m.tpot)),
		"tpot-off-%":         100 * (float64(mean(m.tpot))/float64(m.pace.gap) - 1),
		"itl-p50-ms":         inMS(median(m.gaps)),
		"itl-p99-ms":         inMS(p99(m.gaps)),
		"coalesced-%":        100 * float64(m.together) / float64(m.frames),
		"scheduling-p99-ms":  inMS(m.latency.P99),
		"heartbeat-p99-ms":   inMS(m.latency.Heartbeat),
		"late-p99-ms":        inMS(p99(m.late)),
		"peak-MB":            float64(m.peak) / 1e3,
		"server-late-p99-ms": inMS(m.server.Late),
		"server-cpu-ms/1k":   1e3 * inMS(m.server.CPU) / float64(m.server.Frames),
		"ns/op":              0, // says nothing here
	} {
		b.ReportMetric(value, unit)
	}
	warnings := clientWarnings(m.latency, m.late, true, median(m.ttft), median(m.tpot))
	b.ReportMetric(float64(len(warnings)), "warnings")
	for _, warning := range warnings {
		b.Log(warning)
	}
}

func inMS(d time.Duration) float64 { return d.Seconds() * 1e3 }

func mean(list []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	return sum / time.Duration(len(list))
}

func median(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// measureBench runs a load of the bench.
func measureBench(b *testing.B, at pace, load Load) *measured {
	b.Helper()
	address, finish := startPaced(b, at)
	m := &measured{pace: at, streams: load.InFlight()}
	results := runStreams(b, m, load, address)
	m.server = finish()
	for _, r := range results {
		if r.Outcome != probe.OK {
			b.Fatalf("%s: %v", r.Outcome, r.Err)
		}
		ttft, _ := r.TTFT()
		tpot, _ := r.TPOT()
		m.ttft, m.tpot = append(m.ttft, ttft), append(m.tpot, tpot)
		m.frames += len(r.Tokens)
		m.together += r.Coalesced()
		m.late = append(m.late, r.ScheduleDelay())
		for gap := range r.ChunkGaps() {
			m.gaps, m.errors = append(m.gaps, gap), append(m.errors, (gap-at.gap).Abs())
		}
	}
	return m
}

// runStreams runs the step, and returns its results.
func runStreams(b *testing.B, m *measured, load Load, address string) []*probe.Result {
	b.Helper()
	dialect, err := wire.Lookup("openai-chat")
	if err != nil {
		b.Fatal(err)
	}
	all := &recorded{}
	prompt := strings.Repeat("word ", 80)
	group := &probe.Group{
		Interval: time.Second, Output: m.pace.tokens, Recorder: all,
		Ask: func(uint64) probe.Question {
			return probe.Question{Ask: wire.Ask{Prompt: prompt}, Expect: probe.Expectation{Length: 80}, Learn: func(int) {}, Refuse: func() {}}
		},
		Members: []*probe.Member{probe.NewMember(probe.Target{
			Name: "paced", URL: "http://" + address, Dialect: dialect, Transport: probe.NewTransport(probe.Route{}),
			Timeout: time.Minute, Stall: time.Minute,
		}, "m", math.MaxInt)},
	}
	resetPeak()
	before, began := processorTime(), time.Now()
	NewStep(group, load, func(context.Context, uint64) {}, func([]int) {}, func(_ []int, l SchedulingLatency) { m.latency = l }).Run(b.Context(), 0, 0)
	m.took, m.cpu, m.peak = time.Since(began), processorTime()-before, readPeak()
	return all.results
}

// recorded are the results of a step.
type recorded struct {
	mu      sync.Mutex
	results []*probe.Result
}

func (all *recorded) Record(r *probe.Result) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.results = append(all.results, r)
}

func (all *recorded) Skipped(string, probe.Skip) {}

// measureBare reads one answer a stream by goroutines that only read and count.
func measureBare(b *testing.B, at pace, n int) *measured {
	b.Helper()
	address, finish := startPaced(b, at)
	m := &measured{pace: at, streams: n}
	before := processorTime()
	var reading sync.WaitGroup
	var mu sync.Mutex
	for range n {
		reading.Go(func() {
			frames, gaps := readBare(b, at, address)
			mu.Lock()
			defer mu.Unlock()
			m.frames += frames
			m.errors = append(m.errors, gaps...)
		})
	}
	reading.Wait()
	m.cpu = processorTime() - before
	m.server = finish()
	if m.frames != n*at.tokens {
		b.Fatalf("%d frames, want %d", m.frames, n*at.tokens)
	}
	return m
}

// readBare asks for one answer, counts its token frames, and returns the errors of
// the gaps between its reads.
func readBare(b *testing.B, at pace, address string) (frames int, errors []time.Duration) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Error(err)
		return 0, nil
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: bare\r\nContent-Length: 0\r\n\r\n"); err != nil {
		b.Error(err)
	}
	buf := make([]byte, 32<<10)
	var last time.Time
	for {
		n, err := conn.Read(buf)
		now := time.Now()
		if err != nil {
			b.Error(err)
			return frames, errors
		}
		if more := bytes.Count(buf[:n], []byte(`" token"`)); more > 0 {
			if frames += more; !last.IsZero() {
				errors = append(errors, (now.Sub(last) - at.gap).Abs())
			}
			last = now
		}
		if bytes.HasSuffix(buf[:n], []byte("\r\n0\r\n\r\n")) {
			return frames, errors
		}
	}
}

// resetPeak makes the kernel forget the most memory that the process had.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // else the peak is that of all streams so far
}

// readPeak is the most memory that the process had, in kB.
func readPeak() (kB int) {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(after, &kB)
	return kB
}
