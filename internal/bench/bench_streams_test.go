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
				bare.report(b, "bare-")
				m := measureBench(b, at, Load{AtOnce: n, Requests: 2 * n})
				m.report(b, "")
				b.ReportMetric(float64(m.cpu)/float64(m.frames)/(float64(bare.cpu)/float64(bare.frames)), "cpu-of-bare")
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
				slices.Sort(m.late)
				b.ReportMetric(ms64(m.late[len(m.late)/2]), "late-p50-ms")
				b.ReportMetric(ms64(p99(m.late)), "late-p99-ms")
				b.ReportMetric(ms64(m.cpu)/float64(n), "cpu-ms/request")
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
	server   pacedReport
	cpu      time.Duration // of the client
	peak     int           // memory of the client at most, in kB; 0 if the kernel does not say
	rates    []float64     // tokens a second, of each answer
	errors   []time.Duration
	together int // token frames that came in one read with the one before

	lag        Lag
	late       []time.Duration
	ttft, tpot time.Duration // medians
}

func (m *measured) report(b *testing.B, of string) {
	b.Helper()
	perThousand := m.cpu.Seconds() * 1e3 / float64(m.frames)
	b.ReportMetric(perThousand*1e3, of+"cpu-ms/1k")
	b.ReportMetric(ms64(p99(m.errors)), of+"gap-error-p99-ms")
	if of != "" {
		return
	}
	asked := float64(m.streams) / m.pace.gap.Seconds()
	share := mean(m.rates) * m.pace.gap.Seconds()
	b.ReportMetric(asked, "asked-tok/s")
	b.ReportMetric(asked*share, "tok/s")
	b.ReportMetric(100*share, "reached-%")
	b.ReportMetric(ms64(m.errors[len(m.errors)/2]), "gap-error-p50-ms")
	b.ReportMetric(ms64(m.lag.P99), "lag-p99-ms")
	b.ReportMetric(ms64(m.lag.Beat), "beat-p99-ms")
	b.ReportMetric(ms64(m.server.Late), "server-late-p99-ms")
	b.ReportMetric(m.server.CPU.Seconds()*1e6/float64(m.server.Frames), "server-cpu-ms/1k")
	b.ReportMetric(100*float64(m.together)/float64(m.frames), "coalesced-%")
	b.ReportMetric(float64(m.peak)/1e3, "peak-MB")
	b.ReportMetric(ms64(p99(m.late)), "late-p99-ms")
	b.ReportMetric(0, "ns/op")
	doubts := Doubt(m.lag, m.late, m.ttft, m.tpot)
	b.ReportMetric(float64(len(doubts)), "doubts")
	for _, doubt := range doubts {
		b.Log(doubt)
	}
}

func ms64(d time.Duration) float64 { return d.Seconds() * 1e3 }

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// measureBench runs a load of the bench.
func measureBench(b *testing.B, at pace, load Load) *measured {
	b.Helper()
	address, finish := startPaced(b, at)
	m := &measured{pace: at, streams: load.Crowd()}
	results := runStreams(b, m, load, address)
	m.server = finish()
	var ttft, tpot []time.Duration
	for _, r := range results {
		if r.Outcome != probe.OK {
			b.Fatalf("%s: %v", r.Outcome, r.Err)
		}
		first, _ := r.TTFT()
		each, _ := r.TPOT()
		ttft, tpot = append(ttft, first), append(tpot, each)
		m.rates = append(m.rates, 1/each.Seconds())
		m.frames += len(r.Timeline.Tokens)
		m.together += r.Timeline.Coalesced()
		m.late = append(m.late, r.ScheduleDelay())
		for gap := range r.Timeline.ChunkGaps() {
			m.errors = append(m.errors, (gap - at.gap).Abs())
		}
	}
	m.ttft, m.tpot = middle(ttft), middle(tpot)
	return m
}

func middle(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// runStreams runs the step, and returns its results.
func runStreams(b *testing.B, m *measured, load Load, address string) (results []*probe.Result) {
	b.Helper()
	dialect, err := wire.Lookup("openai-chat")
	if err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	prompt := strings.Repeat("word ", 80)
	group := &probe.Group{
		Interval: time.Second, Output: m.pace.tokens, Skipped: func(string, probe.Skip) {},
		Ask: func(uint64) probe.Question {
			return probe.Question{Ask: wire.Ask{Prompt: prompt, Length: 80}, Learn: func(int) {}, Refuse: func() {}}
		},
		Record: func(r *probe.Result) {
			mu.Lock()
			defer mu.Unlock()
			results = append(results, r)
		},
		Members: []*probe.Member{probe.NewMember(probe.Target{
			Name: "paced", URL: "http://" + address, Dialect: dialect, Transport: probe.NewTransport(nil, nil, false),
			Timeout: time.Minute, Stall: time.Minute,
		}, "m", math.MaxInt, probe.NewBudget(0))},
	}
	resetPeak()
	before := processorTime()
	Step{
		Group: group, Load: load,
		Ready: func(context.Context, uint64) {}, Begin: func([]int) {},
		End: func(_ []int, lag Lag) { m.lag = lag },
	}.Run(b.Context(), b.Context())
	m.cpu, m.peak = processorTime()-before, readPeak()
	return results
}

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
