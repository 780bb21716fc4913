package test

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

// What a prober makes in one life: that many probes of each target, one a second,
// each of which takes half a second. In that time a new series is seen at zero.
const (
	lifeProbes = 4
	lifeFault  = "ttft=25" // of 20 ms
)

// A life is a prober that can be restarted, and what it probes.
type life struct {
	*program.Process

	base, file string
	environ    []string
	servers    map[string]string // by name of the target
}

// newLife starts three simulated servers a, b and c for a prober of the first two.
func newLife(t *testing.T, environ ...string) *life {
	t.Helper()
	urls := program.Simulate(t, "fast,fast,fast", "--fault", lifeFault)
	l := &life{
		file: filepath.Join(t.TempDir(), "targets.yaml"), environ: environ,
		servers: map[string]string{"a": urls[0], "b": urls[1], "c": urls[2]},
	}
	l.targets(t, "a", "b")
	return l
}

// begin starts the prober.
func (l *life) begin(t *testing.T) {
	t.Helper()
	l.Process, l.base = program.Run(t, l.environ, "--targets-file", l.file, "--qps", "1", "--token-budget-per-day", fmt.Sprint(120*lifeProbes))
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
	reloads := func() int { return strings.Count(l.Log(), `"msg":"reloaded"`) }
	before := reloads()
	must(t, l.Cmd.Process.Signal(syscall.SIGHUP))
	l.Eventually(t, "the reload", func() bool { return reloads() > before })
}

// made returns how many results there are, by target.
func (l *life) made(t *testing.T) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, r := range program.Results(t, l.base) {
		if r.Outcome != "ok" {
			t.Fatalf("%+v", r)
		}
		n[r.Target]++
	}
	return n
}

// makes waits until there are all results of two targets.
func (l *life) makes(t *testing.T, a, b string) {
	t.Helper()
	l.Eventually(t, "all probes of "+a+" and "+b, func() bool { return maps.Equal(l.made(t), map[string]int{a: lifeProbes, b: lifeProbes}) })
}

// all lets the targets a and b be probed, with a reload in the middle that changes
// nothing; then a and c; then both again after a restart.
func (l *life) all(t *testing.T, between func()) {
	t.Helper()
	l.begin(t)
	l.Eventually(t, "half of the probes", func() bool { n := l.made(t); return n["a"] >= lifeProbes/2 && n["b"] >= lifeProbes/2 })
	l.reload(t)
	l.makes(t, "a", "b")
	l.targets(t, "a", "c")
	l.reload(t)
	l.makes(t, "a", "c")
	between()
	l.Interrupt(t)
	l.begin(t)
	l.makes(t, "a", "c")
}

// TestRestartAndReload holds what Prometheus makes of a reload, of targets that
// go and come, and of a restart, with native and with classic histograms.
func TestRestartAndReload(t *testing.T) {
	t.Parallel()
	address := program.FreeAddress(t)
	l := newLife(t, "PROBER_LISTEN_ADDRESS="+address)
	p := startPrometheus(t, strings.ReplaceAll(scrapeAllWays(t, address), "200ms", "100ms"))
	p.becomes(t, "count(up == 0)", 3)
	paths := []ingestion{{into: p, job: "prober"}, {into: p, job: "by-default", classic: true}}
	hold := func(lives float64) {
		for _, r := range paths {
			for _, target := range []string{"a", "c"} {
				r.holds(t, target, lives)
			}
			// Long before Prometheus would forget what it is not told of any more.
			p.becomes(t, fmt.Sprintf(`count({__name__=~"llm_probe_.+",job=%q,target="b"}) or vector(0)`, r.job), 0)
		}
	}
	l.all(t, func() { hold(1) })
	hold(2)
}

// holds waits until the last probe has come by this path, and holds what Prometheus
// says of all of them against what was made.
func (r ingestion) holds(t *testing.T, target string, lives float64) {
	t.Helper()
	probes := fmt.Sprintf(`llm_probe_probes_total{job=%q,target=%q,model!="unknown",outcome="ok"}`, r.job, target)
	e2el := r.selector("e2el", "", target)
	if r.classic {
		e2el = r.selector("e2el", "_count", target)
	}
	r.into.becomes(t, r.of("count", "e2el", target), lifeProbes)
	r.into.becomes(t, "resets("+e2el+"[5m])", lives-1)
	r.into.becomes(t, "resets("+probes+"[5m])", lives-1)
	r.into.becomes(t, "increase("+probes+"[5m] anchored)", lives*lifeProbes) // without extrapolation
}

// TestRestartOverOTLP holds what a Prometheus makes of a reload and of a restart
// that is sent OTLP. One that does not look at start times misses the first value
// of each histogram: OpenTelemetry cannot send an empty one before.
func TestRestartOverOTLP(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		name    string
		environ string
		flags   []string
		resets  float64 // after a restart
		misses  float64 // samples in each life
	}{
		{"as by default", "", nil, 0, 1},
		{"start times and one instance", "OTEL_RESOURCE_ATTRIBUTES=service.instance.id=prober-0", []string{"--enable-feature", "created-timestamp-zero-ingestion"}, 1, 0},
	} {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			p := startPrometheus(t, "", of.flags...)
			hold := func(lives, resets float64) {
				for _, target := range []string{"a", "c"} {
					counter := fmt.Sprintf(`llm_probe_probes_total{outcome="ok",target=%q}`, target)
					histogram := fmt.Sprintf(`llm_probe_e2el_seconds{target=%q}`, target)
					p.becomes(t, "sum(increase("+counter+"[5m] anchored))", lives*lifeProbes)
					p.becomes(t, "sum(resets("+counter+"[5m]))", resets)
					p.becomes(t, "sum(resets("+histogram+"[5m]))", resets)
					seen := "histogram_count(sum(increase(" + histogram + "[5m])))" // extrapolated
					if got, _ := p.number(t, seen); got < lives*(lifeProbes-of.misses) {
						t.Errorf("%s is %v after %v lives", seen, got, lives)
					}
				}
			}
			l := newLife(t, append(p.otlp(100), of.environ)...)
			l.all(t, func() {
				hold(1, 0)
				p.Eventually(t, "exports without the removed target", func() bool {
					later, ok := p.number(t, `max(timestamp(llm_probe_probes_total{target="a"})) - max(timestamp(llm_probe_probes_total{target="b"}))`)
					return ok && later > 1
				})
			})
			hold(2, of.resets)
		})
	}
}
