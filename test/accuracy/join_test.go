package main

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// logOf is what was written of three streams: a has three frames, c four, one of them interrupted, and b two.
func logOf() writes {
	return writes{
		"a": {{1000, 1010, 1020}, {2000, 2030, 2040}, {2000, 2030, 2040}},
		"b": {{1500, 1500, 1510}, {1500, 1600, 1610}},
		"c": {{1000, 1000, 1010}, {2000, 2000, 52000}, {60000, 60000, 60010}, {70000, 70000, 70010}},
	}
}

func TestJoin(t *testing.T) {
	j, err := join([]seen{
		{Trace: "b", Arrivals: []int64{1490, 1620}, Tainted: true},
		{Trace: "a", Arrivals: []int64{1015, 2045, 2044}, Together: 1, Kernel: 3},
		{Trace: "c", Arrivals: []int64{1000, 42000, 60000, 70002}},
	}, logOf())
	if err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{30, 10, 1, 40000, 40000, 2}; !slices.Equal(j.gaps, want) {
		t.Errorf("gap errors %v, want %v", j.gaps, want)
	}
	if want := []time.Duration{30, 10, 1, 2}; !slices.Equal(j.between, want) {
		t.Errorf("gap errors %v, want %v without those of a Write that took 50 µs", j.between, want)
	}
	if want := []time.Duration{-10, 5, 0}; !slices.Equal(j.ttft, want) {
		t.Errorf("TTFT errors %v, want %v", j.ttft, want)
	}
	if want := []time.Duration{0, 100, 10, 30, 30, 0, 0, 0, 0}; !slices.Equal(j.late, want) {
		t.Errorf("the server was late by %v, want %v", j.late, want)
	}
	if j.frames != 9 || j.together != 1 || j.kernel != 3 || j.tainted != 1 {
		t.Errorf("%+v", j)
	}
}

func TestJoinMissesNoFrame(t *testing.T) {
	w := writes{"a": {{1, 2, 3}, {3, 4, 5}}}
	for _, s := range []seen{{Trace: "a", Arrivals: []int64{1}}, {Trace: "a", Arrivals: []int64{1, 2, 3}}, {Trace: "b", Arrivals: []int64{1}}, {Trace: "c"}} {
		if _, err := join([]seen{s}, w); err == nil {
			t.Errorf("%+v was joined", s)
		}
	}
}

func TestSpread(t *testing.T) {
	hundred := make([]time.Duration, 0, 100)
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, test := range []struct {
		list []time.Duration
		want spread
	}{
		{nil, spread{}},
		{[]time.Duration{-7}, spread{-7, -7, -7}},
		{[]time.Duration{3, 1, 2}, spread{2, 3, 3}},
		{hundred, spread{50, 99, 100}},
	} {
		if got := spreadOf(test.list); got != test.want {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	if odd, even := median([]float64{9, 1, 5}), median([]float64{9, 1, 5, 7}); odd != 5 || even != 6 {
		t.Errorf("%v and %v, want 5 and 6", odd, even)
	}
}

// TestABareReaderMissesNoFrame cuts an answer at each place, and into single bytes.
func TestABareReaderMissesNoFrame(t *testing.T) {
	const answer = "head\r\n\r\nb\r\ndata: one\n\n\r\nb\r\ndata: two\n\ndata: three\n\n\r\n0\r\n\r\n"
	for cut := range len(answer) {
		at, err := arrivals(io.MultiReader(strings.NewReader(answer[:cut]), strings.NewReader(answer[cut:])), time.Now(), 3)
		if err != nil || len(at) != 3 {
			t.Errorf("cut at %d: %d frames, %v", cut, len(at), err)
		}
	}
	long := strings.Repeat(answer, 1000)
	for name, r := range map[string]io.Reader{"byte by byte": iotest.OneByteReader(strings.NewReader(long)), "whole": strings.NewReader(long)} {
		if at, err := arrivals(r, time.Now(), 1); err != nil || len(at) != 3000 || !slices.IsSorted(at) {
			t.Errorf("%s: %d frames, %v", name, len(at), err)
		}
	}
}

// TestStreamsAreNotInLockstep holds that beginnings are spread over the time that
// they have, and tokens over the gap: no hole is three times what it would be if all
// were even.
func TestStreamsAreNotInLockstep(t *testing.T) {
	for _, n := range []int{1, 2, 64, 256, 512} {
		j := job{Streams: n, Gap: 20 * time.Millisecond, Spread: time.Second}
		var phases []time.Duration
		for i := range n {
			begin := j.begin(i)
			if even := time.Duration(i) * j.Spread / time.Duration(n); begin <= even-j.Gap || begin >= even+j.Gap {
				t.Errorf("stream %d of %d begins at %v, want %v or less than a gap off", i, n, begin, even)
			}
			phases = append(phases, begin%j.Gap)
		}
		slices.Sort(phases)
		phases = append(phases, phases[0]+j.Gap)
		for i := range n {
			if hole := phases[i+1] - phases[i]; float64(hole) > 3*float64(j.Gap)/float64(n)+1 {
				t.Errorf("%d streams: no token for %v", n, hole)
			}
		}
	}
}

// runsOf is two runs of all clients, in which the prober is as given.
func runsOf(gap, cpu time.Duration, peak float64) []*measured {
	var all []*measured
	for run := range 2 {
		for _, streams := range []int{1, 512} {
			for _, client := range clients() {
				m := &measured{run: run, client: client, streams: streams, joined: joined{frames: 1000}}
				m.gap, m.cpu, m.peak = spread{p50: 1, p99: 400 * time.Microsecond, max: 3}, 10*time.Millisecond, 10*mega
				if client == kernelStamped && streams == 512 {
					m.gap.p99, m.cpu, m.peak, m.kernel = gap+time.Duration(run), cpu, peak, 1000
					m.brief.p99, m.interrupted = 7*time.Microsecond, 0.005
				}
				all = append(all, m)
			}
		}
	}
	return all
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		name string
		gap  time.Duration
		cpu  time.Duration
		peak float64
		want []string // ends of the lines
	}{
		{"all reached", 13 * time.Microsecond, 15 * time.Millisecond, 50 * mega,
			[]string{": reached: 13 µs", "without the 0.5% of the gaps beside a Write that took 50µs or more: 7 µs", ": reached: 0.033", ": reached: 1.50", ": reached: 50 MB", ": 100% of the frames"}},
		{"all missed", 51 * time.Microsecond, 16 * time.Millisecond, 51 * mega,
			[]string{": missed: 51 µs", ": 7 µs", ": missed: 0.128", ": missed: 1.60", ": missed: 51 MB", ": 100% of the frames"}},
	} {
		got := verdicts(summarize(runsOf(test.gap, test.cpu, test.peak)))
		for i, want := range test.want {
			if !strings.HasSuffix(got[i], want) {
				t.Errorf("%s: %q, want %q", test.name, got[i], want)
			}
		}
	}
}

func TestTableHasALineForEachClientAndNumber(t *testing.T) {
	rows := summarize(runsOf(20*time.Microsecond, 15*time.Millisecond, 40*mega))
	last := rows[len(rows)-1]
	if last.low != 20*time.Microsecond || last.high != last.low+1 || math.Abs(last.cpuOfBare-1.5) > 1e-9 || math.Abs(last.gapOfBare-0.05) > 1e-4 {
		t.Errorf("%+v", last)
	}
	lines := strings.Split(strings.TrimSpace(table(rows)), "\n")
	if len(lines) != 2+6 || !strings.HasPrefix(lines[7], "| 512 | prober, kernel timestamps | 0.001 µs | 20 µs (20 µs to 20 µs) | 0.003 µs | 0.05 |") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	for _, line := range lines {
		if strings.Count(line, "|") != 17 {
			t.Errorf("%d columns in %s", strings.Count(line, "|")-1, line)
		}
	}
}

func TestWarnings(t *testing.T) {
	p := plan{gap: 20 * time.Millisecond}
	all := runsOf(1, 1, 1)
	if got := p.warnings(all); len(got) != 0 {
		t.Errorf("%q on a quiet machine", got)
	}
	all[3].others, all[5].lateness.p99 = 0.5, p.gap+1
	got := strings.Join(p.warnings(all), "\n")
	if !strings.Contains(got, "up to 50% of") || !strings.Contains(got, "with 512 streams") || strings.Count(got, "\n") != 1 {
		t.Errorf("warnings %s", got)
	}
}

func TestTheQuietestCounts(t *testing.T) {
	for _, test := range []struct {
		noises []float64
		again  int
		want   float64
		tries  int
	}{
		{[]float64{0.05}, 3, 0.05, 1},
		{[]float64{0.2, 0.01, 0}, 3, 0.01, 2},
		{[]float64{0.2, 0.1, 0.3}, 2, 0.1, 3},
		{[]float64{0.2}, 0, 0.2, 1},
	} {
		made := 0
		m, err := quietest(test.again, func() (*measured, error) {
			made++
			return &measured{stolen: test.noises[made-1]}, nil
		})
		if err != nil || m.noise() != test.want || m.tries != test.tries || made != test.tries {
			t.Errorf("%v: %v after %d, %v; want %v after %d", test.noises, m.noise(), made, err, test.want, test.tries)
		}
	}
	if _, err := quietest(3, func() (*measured, error) { return nil, errShort }); !errors.Is(err, errShort) {
		t.Errorf("error %v", err)
	}
}
