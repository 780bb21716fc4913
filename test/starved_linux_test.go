package test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// period is how often a CPU limit is renewed, and so for how long at most it stops
// a process.
const period = 100 * time.Millisecond

// stampError is how exactly a kernel's time stamp tells when a frame was written: what
// docs/accuracy.md promises of a gap.
const stampError = 50 * time.Microsecond

// TestStarvedProberRecordsNoWrongGap gives a prober a fifth of a processor, of which a
// neighbour takes what it can, and heals it half way. Every gap that it recorded is one of
// the server's, as the server wrote them down; the others are counted.
func TestStarvedProberRecordsNoWrongGap(t *testing.T) {
	const probes = 12
	log := filepath.Join(t.TempDir(), "writes.csv")
	simulator := start(t, nil, "simulate", "--profile", "steady", "--listen", "127.0.0.1:0", "--log-writes", log)
	server := simulator.after(t, "steady")

	limit := starve(t)
	binary := os.Getenv("PROBER_BINARY")
	if binary == "" {
		t.Fatal("PROBER_BINARY is not set: run make e2e")
	}
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", limit.enter+`exec "$0" "$@"`, binary,
		"run", "--listen-address", "127.0.0.1:0", "--log-format", "json", "--qps", "1", "--max-in-flight", "5", "--prompt-tokens", "100",
		"--token-budget-per-day", strconv.Itoa(probes*200), server)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	prober := run(t, cmd)
	base := prober.listening(t)
	eventually(t, "half of the probes", func() bool { return len(accounts(t, base)) >= probes/2 })
	limit.lift()
	eventually(t, "all probes", func() bool { return len(accounts(t, base)) == probes })
	seen := accounts(t, base)
	text, _ := get(t, base+"metrics", "text/plain")
	simulator.stop(t)
	sent := readWrites(t, log)

	tainted, samples := 0, 0
	for _, a := range seen {
		writes := sent[a.Trace]
		if a.Outcome != "ok" || a.Stamp != "kernel" || len(writes) != 100 {
			t.Fatalf("%s, stamped by the %s, %d frames written: %s", a.Outcome, a.Stamp, len(writes), a.Error)
		}
		a.check(t, writes)
		samples += len(a.ITL)
		if a.Taint != "" {
			tainted++
		}
	}
	if tainted == 0 || tainted == probes {
		t.Errorf("%d of %d probes were tainted: either nobody was starved, or nobody was healed", tainted, probes)
	}
	families := families(t, text, expfmt.NewFormat(expfmt.TypeTextPlain))
	if got := total(families["llm_probe_tainted_total"]); got != float64(tainted) {
		t.Errorf("%v probes are counted as tainted, %d are", got, tainted)
	}
	if got := families["llm_probe_itl_seconds"].GetMetric()[0].GetHistogram().GetSampleCount(); got != uint64(samples) {
		t.Errorf("%d samples of ITL, want %d", got, samples)
	}
	if total(families["llm_probe_coalesced_frames_total"]) == 0 {
		t.Error("no frame is counted as read together with the one before")
	}
	t.Logf("%d of %d probes tainted, %d samples of ITL, all right", tainted, probes, samples)
}

// A starved is the lack of processor time of a process.
type starved struct {
	enter string // of a shell: puts itself there
	lift  func()
}

// starve makes a group of processes that have a fifth of a processor, with one that never
// rests, by whatever version of control groups there is. Where there is none, as many
// as never let go of any processor starve the whole machine.
func starve(t *testing.T) starved {
	t.Helper()
	for _, kind := range []struct{ root, limit, share, all string }{
		{"/sys/fs/cgroup", "cpu.max", "20000 100000", "max 100000"},
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "20000", "-1"},
	} {
		group := filepath.Join(kind.root, "prober-test-"+strconv.Itoa(os.Getpid()))
		if os.Mkdir(group, 0o700) != nil {
			continue
		}
		if os.WriteFile(filepath.Join(group, kind.limit), []byte(kind.share), 0o600) != nil {
			_ = os.Remove(group)
			continue
		}
		t.Cleanup(func() {
			eventually(t, "the end of the group's processes", func() bool { return os.Remove(group) == nil })
		})
		s := starved{enter: "echo $$ >" + group + "/cgroup.procs; "}
		busy := spin(t, s.enter)
		s.lift = func() {
			_ = busy.Process.Kill()
			if err := os.WriteFile(filepath.Join(group, kind.limit), []byte(kind.all), 0o600); err != nil {
				t.Error(err)
			}
		}
		return s
	}
	t.Log("no control group can be made: busy loops instead")
	var all []*exec.Cmd
	for range 8 * runtime.NumCPU() {
		all = append(all, spin(t, ""))
	}
	return starved{lift: func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
		}
	}}
}

// spin starts a process that never rests. It is killed at the end of the test.
func spin(t *testing.T, enter string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", enter+"while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return cmd
}

// A starvedProbe is what this test looks at in a probe's JSON.
type starvedProbe struct {
	Outcome string    `json:"outcome"`
	Error   string    `json:"error"`
	Stamp   string    `json:"stamp"`
	Taint   string    `json:"taint"`
	Trace   string    `json:"trace_id"`
	Start   time.Time `json:"start"`
	TTFT    float64   `json:"ttft_seconds"`
	TPOT    float64   `json:"tpot_seconds"`
	ITL     []float64 `json:"itl_seconds"`
}

func accounts(t *testing.T, base string) []starvedProbe {
	t.Helper()
	body, _ := get(t, base+"api/v1/results?limit=1000&format=jsonl", "")
	var list []starvedProbe
	for line := range strings.Lines(body) {
		var a starvedProbe
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, a)
	}
	return list
}

// check holds a probe against what was written.
func (a starvedProbe) check(t *testing.T, sent []write) {
	t.Helper()
	if (len(a.ITL) == 0) != (a.Taint != "") {
		t.Errorf("%d samples of ITL, tainted: %q", len(a.ITL), a.Taint)
	}
	for i, itl := range a.ITL {
		gap := time.Duration(math.Round(itl * 1e9))
		if low, high := sent[i+1].before-sent[i].after, sent[i+1].after-sent[i].before; gap < low-stampError || gap > high+stampError {
			t.Errorf("token %d: gap %v, written within %v and %v", i+1, gap, low, high)
		}
	}
	first, last := sent[0], sent[len(sent)-1]
	ttft := time.Duration(a.TTFT*1e9) - first.before + time.Duration(a.Start.UnixNano())
	if ttft < -stampError || ttft > period {
		t.Errorf("TTFT is off by %v", ttft)
	}
	tpot := time.Duration(a.TPOT*1e9) - (last.before-first.before)/time.Duration(len(sent)-1)
	if tpot.Abs() > period/time.Duration(len(sent)-1) {
		t.Errorf("TPOT is off by %v", tpot)
	}
}

// A write is when the simulator wrote a token frame, since 1970.
type write struct{ before, after time.Duration }

// readWrites reads the simulator's log: the token frames of each trace, in their order.
func readWrites(t *testing.T, path string) map[string][]write {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	all := map[string][]write{}
	for _, row := range rows[1:] {
		instant := func(name string) time.Duration {
			n, err := strconv.ParseInt(row[column[name]], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return time.Duration(n)
		}
		if row[column["frames"]] == "1" {
			trace := row[column["trace"]]
			all[trace] = append(all[trace], write{instant("before"), instant("after")})
		}
	}
	return all
}

// total is the sum of a family's counters.
func total(family *dto.MetricFamily) (sum float64) {
	for _, m := range family.GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	return sum
}
