package test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What a prober makes in one life: so many probes of each target, one a second,
// each of which takes half a second. In that time a new series is seen at zero.
const (
	lifeProbes  = 4
	lifeHeaders = "500ms"
)

// A life is a prober that can be restarted, and what it probes.
type life struct {
	*process

	base, file, address string
	environ             []string
	servers             map[string]string // by name of the target
}

// newLife starts three simulated servers a, b and c for a prober of the first two.
func newLife(t *testing.T, environ ...string) *life {
	t.Helper()
	simulator := start(t, nil, "simulate", "--profile", "fast,fast,fast", "--listen", "127.0.0.1:0", "--fault", "slow_headers="+lifeHeaders)
	l := &life{
		file: filepath.Join(t.TempDir(), "targets.yaml"), address: freeAddress(t), environ: environ, servers: map[string]string{},
	}
	for _, name := range []string{"a", "b", "c"} {
		l.servers[name] = simulator.after(t, "fast")
	}
	l.targets(t, "a", "b")
	return l
}

// begin starts the prober, again at the same address.
func (l *life) begin(t *testing.T) {
	t.Helper()
	l.process = start(t, l.environ, "run", "--targets-file", l.file, "--listen-address", l.address, "--log-format", "json",
		"--qps", "1", "--prompt-tokens", "100", "--max-tokens", "20", "--token-budget-per-day", fmt.Sprint(120*lifeProbes))
	l.base = l.listening(t)
}

// again ends the prober in order, and starts it again.
func (l *life) again(t *testing.T) {
	t.Helper()
	if code := l.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	l.begin(t)
}

// targets writes the targets file.
func (l *life) targets(t *testing.T, names ...string) {
	t.Helper()
	text := "targets:\n"
	for _, name := range names {
		text += fmt.Sprintf("  - {name: %s, url: %q}\n", name, l.servers[name])
	}
	write(t, l.file, text)
}

// reload sends SIGHUP and waits until the log says that it was heard.
func (l *life) reload(t *testing.T) {
	t.Helper()
	reloads := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Count(l.stderr.String(), `"msg":"reloaded"`)
	}
	before := reloads()
	if err := l.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reload", func() bool { return reloads() > before })
}

// made is how many results there are, by target.
func (l *life) made(t *testing.T) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, r := range results(t, l.base) {
		if r.Outcome != "ok" {
			t.Fatalf("%+v", r)
		}
		n[r.Target]++
	}
	return n
}

// makes waits until there are so many results of each target.
func (l *life) makes(t *testing.T, want map[string]int) {
	t.Helper()
	eventually(t, fmt.Sprintf("results %v", want), func() bool { return maps.Equal(l.made(t), want) })
}

// all lets the targets a and b be probed, with a reload in the middle that changes
// nothing; then a and c; then both again after a restart.
func (l *life) all(t *testing.T, between func()) {
	t.Helper()
	eventually(t, "half of the probes", func() bool { n := l.made(t); return n["a"] >= lifeProbes/2 && n["b"] >= lifeProbes/2 })
	l.reload(t)
	l.makes(t, map[string]int{"a": lifeProbes, "b": lifeProbes})
	l.targets(t, "a", "c")
	l.reload(t)
	l.makes(t, map[string]int{"a": lifeProbes, "c": lifeProbes})
	between()
	l.again(t)
	l.makes(t, map[string]int{"a": lifeProbes, "c": lifeProbes})
	for name, n := range map[string]int{"a": 2 * lifeProbes, "b": lifeProbes, "c": 2 * lifeProbes} {
		if got := made(t, l.servers[name]); got != n {
			t.Fatalf("server %s answered %d requests, want %d", name, got, n)
		}
	}
}

// TestRestartAndReload holds what Prometheus makes of a reload, of targets that
// go and come, and of a restart, with native and with classic histograms.
func TestRestartAndReload(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	p := startPrometheus(t, strings.ReplaceAll(scrapeAllWays(t, "http://"+l.address), "200ms", "100ms"), nil,
		"--enable-feature", "promql-extended-range-selectors")
	eventually(t, "scrapes", func() bool { return len(p.query(t, "up == 0")) == 3 })
	l.begin(t)
	paths := []ingestion{
		{name: "native scrape", into: p, job: "prober"},
		{name: "default scrape", into: p, job: "by-default", classic: true},
	}
	l.all(t, func() {
		for _, r := range paths {
			r.holds(t, "a", lifeProbes, 0)
			r.holds(t, "c", lifeProbes, 0)
			r.gone(t, "b")
		}
	})
	for _, r := range paths {
		r.holds(t, "a", 2*lifeProbes, 1)
		r.holds(t, "c", 2*lifeProbes, 1)
		r.gone(t, "b")
	}
}

// holds waits until the last probe has come by this path, and holds what Prometheus
// says of all of them against what was made.
func (r ingestion) holds(t *testing.T, target string, made, resets float64) {
	t.Helper()
	probes := fmt.Sprintf(`llm_probe_probes_total{job=%q,target=%q,model!="unknown",outcome="ok"}`, r.job, target)
	e2el := r.selector("e2el", "", target)
	if r.classic {
		e2el = r.selector("e2el", "_count", target)
	}
	last := func() bool {
		return r.value(t, probes) == lifeProbes && r.count(t, "e2el", target) == lifeProbes && r.value(t, "resets("+probes+"[5m])") == resets
	}
	eventually(t, fmt.Sprintf("%s: the last probe of %s, and %v resets", r.name, target, resets), last)
	if got := r.value(t, "increase("+probes+"[5m] anchored)"); got != made {
		t.Errorf("%s: %v probes of %s without extrapolation, want %v", r.name, got, target, made)
	}
	if got := r.value(t, "resets("+e2el+"[5m])"); got != resets {
		t.Errorf("%s: %v resets of the histogram of %s, want %v", r.name, got, target, resets)
	}
	r.increased(t, probes, made, "%s")
	if r.classic {
		r.increased(t, e2el, made, "%s")
	} else {
		r.increased(t, e2el, made, "histogram_count(%s)")
	}
}

// increased holds increase() over everything, and over every second of it.
func (r ingestion) increased(t *testing.T, series string, made float64, count string) {
	t.Helper()
	r.between(t, fmt.Sprintf(count, "increase("+series+"[5m])"), made, made*r.extrapolated(t, series))
	each := fmt.Sprintf(count, "increase("+series+"[1s])") + "[5m:100ms]"
	r.between(t, "min_over_time("+each+")", 0, made)
	r.between(t, "max_over_time("+each+")", 0, made)
}

// gone waits until nothing is left of a target, long before Prometheus would
// forget what it is not told of any more.
func (r ingestion) gone(t *testing.T, target string) {
	t.Helper()
	eventually(t, r.name+": the end of "+target, func() bool {
		return math.IsNaN(r.value(t, fmt.Sprintf(`count({__name__=~"llm_probe_.+",job=%q,target=%q})`, r.job, target)))
	})
}
