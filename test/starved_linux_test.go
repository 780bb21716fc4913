package test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// exactly is by how much a gap that is recorded may be off: what docs/accuracy.md promises, a
// twentieth of the 20 ms between two tokens.
const exactly = time.Millisecond

// TestStarvedProberRecordsNoWrongGap gives a prober a fifth of a processor, of which a
// neighbour takes what it can, and heals it after some probes. Every gap that it recorded is one
// of the server's, as the server wrote them down; the others are counted.
func TestStarvedProberRecordsNoWrongGap(t *testing.T) {
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
		"--drain-endpoint", server)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	prober := run(t, cmd)
	base := prober.listening(t)
	count := func(tainted bool) (n int) {
		for _, a := range accounts(t, base) {
			if (a.Taint != "") == tainted {
				n++
			}
		}
		return n
	}
	eventually(t, "probes that were tainted", func() bool { return count(true) >= 5 })
	limit.lift()
	eventually(t, "one that was not", func() bool { return count(false) > 0 })
	drain := exec.CommandContext(t.Context(), binary, "drain", base)
	drain.Env = cmd.Env
	if out, err := drain.CombinedOutput(); err != nil {
		t.Fatalf("drain: %v\n%s", err, out)
	}
	eventually(t, "the end of all probes", func() bool {
		text, _ := get(t, base+"metrics", "text/plain")
		return total(families(t, text, expfmt.NewFormat(expfmt.TypeTextPlain))["llm_probe_in_flight"]) == 0
	})
	seen := accounts(t, base)
	text, _ := get(t, base+"metrics", "text/plain")
	simulator.stop(t)
	sent := readWrites(t, log)

	tainted, samples := 0, 0
	var ttft, tpot []time.Duration // by how much they are off
	for _, a := range seen {
		writes := sent[a.Trace]
		if a.Outcome != "ok" || a.Stamp != "kernel" || len(writes) != 100 {
			t.Fatalf("%s, stamped by the %s, %d frames written: %s", a.Outcome, a.Stamp, len(writes), a.Error)
		}
		a.check(t, writes)
		ttft, tpot = append(ttft, a.offTTFT(writes)), append(tpot, a.offTPOT(writes))
		samples += len(a.ITL)
		if a.Taint != "" {
			tainted++
		}
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
	// A machine that does other things as well may stop a process for longer than its limit does.
	slices.Sort(ttft)
	slices.Sort(tpot)
	if ttft[0] < -exactly || ttft[len(ttft)/2] > period || tpot[len(tpot)/2].Abs() > period/99 {
		t.Errorf("TTFT is off by %v, TPOT by %v", ttft, tpot)
	}
	t.Logf("TTFT is off by %v to %v, TPOT by %v to %v", ttft[0], ttft[len(ttft)-1], tpot[0], tpot[len(tpot)-1])
	t.Logf("%d of %d probes tainted, %d samples of ITL, all right", tainted, len(seen), samples)
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
		limit := filepath.Join(group, kind.limit)
		if set(limit, kind.share) != nil { // a folder like any other, or one of a controller that is elsewhere
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
			if err := set(limit, kind.all); err != nil {
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

// set writes to a file that must be there.
func set(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
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
func (a starvedProbe) check(t *testing.T, sent []sentAt) {
	t.Helper()
	if (len(a.ITL) == 0) != (a.Taint != "") {
		t.Errorf("%d samples of ITL, tainted: %q", len(a.ITL), a.Taint)
	}
	for i, itl := range a.ITL {
		gap := time.Duration(math.Round(itl * 1e9))
		if low, high := sent[i+1].before-sent[i].after, sent[i+1].after-sent[i].before; gap < low-exactly || gap > high+exactly {
			t.Errorf("token %d: gap %v, written within %v and %v", i+1, gap, low, high)
		}
	}
}

// offTTFT is by how much the time to the first token is too long.
func (a starvedProbe) offTTFT(sent []sentAt) time.Duration {
	return time.Duration(a.TTFT*1e9) - sent[0].before + time.Duration(a.Start.UnixNano())
}

// offTPOT is by how much the time per token is too long.
func (a starvedProbe) offTPOT(sent []sentAt) time.Duration {
	last := len(sent) - 1
	return time.Duration(a.TPOT*1e9) - (sent[last].before-sent[0].before)/time.Duration(last)
}

// A sentAt is when the simulator wrote a token frame, since 1970.
type sentAt struct{ before, after time.Duration }

// readWrites reads the simulator's log: the token frames of each trace, in their order.
func readWrites(t *testing.T, path string) map[string][]sentAt {
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
	all := map[string][]sentAt{}
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
			all[trace] = append(all[trace], sentAt{instant("before"), instant("after")})
		}
	}
	return all
}

// total is the sum of a family's counters and gauges.
func total(family *dto.MetricFamily) (sum float64) {
	for _, m := range family.GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return sum
}
