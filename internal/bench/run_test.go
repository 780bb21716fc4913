package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/memconn"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/sim"
)

// A rig is simulated servers by name, in memory.
type rig struct {
	servers   map[string]*sim.Server
	rejects   string // a request field that the servers do not know; empty: none
	listeners map[string]*memconn.Listener
}

// newRig serves a simulated server for each name until the end of the test.
func newRig(t *testing.T, configs map[string]sim.Config) *rig {
	r := &rig{servers: map[string]*sim.Server{}, listeners: map[string]*memconn.Listener{}}
	for name, c := range configs {
		s := sim.New(c)
		answer := func(w http.ResponseWriter, q *http.Request) { r.answer(s, w, q) }
		r.servers[name], r.listeners[name+":80"] = s, memconn.Serve(t, http.HandlerFunc(answer))
		t.Cleanup(s.Close)
	}
	return r
}

// answer answers as a server does, unless the request has a field that it does not know.
func (r *rig) answer(s *sim.Server, w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if r.rejects != "" && bytes.Contains(body, []byte(`"`+r.rejects+`"`)) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"Extra inputs are not permitted: `+r.rejects+`"}}`)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	s.ServeHTTP(w, request)
}

// bench runs a bench on the named servers and returns what came of it.
func (r *rig) bench(t *testing.T, names []string, o Options, settings map[string]string) report.Document {
	t.Helper()
	run := newRun(r.setup(t, names, o, settings, io.Discard, io.Discard))
	if err := run.measureAll(t.Context()); err != nil {
		t.Error(err)
	}
	return run.document
}

// setup returns the setup of a bench on the named servers.
func (r *rig) setup(t *testing.T, names []string, o Options, settings map[string]string, out, errs io.Writer) Setup {
	t.Helper()
	var given []string
	for _, name := range names {
		given = append(given, name+"=http://"+name)
	}
	if o.Unpaced {
		settings["QPS"] = "inf"
	}
	o.Format = cmp.Or(o.Format, "text")
	load := func(settings map[string]string) (*config.Config, error) {
		return config.Load(config.Options{Overrides: settings, URLs: given})
	}
	plan, err := Parse(CommandLine{
		Options: o, Settings: settings, URLs: given, Load: load, Changed: func(string) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	return Setup{
		Plan: plan, Files: engine.NewFiles(), Dial: r.dial,
		Screen: NewScreen(out, errs, o.Format), Out: out,
	}
}

// dial reaches a server by its name.
func (r *rig) dial(ctx context.Context, _, address string) (net.Conn, error) {
	return r.listeners[address].Dial(ctx, "", "")
}

func simConfig(t *testing.T, profile string, seed uint64) sim.Config {
	t.Helper()
	p, err := sim.ParseProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	return sim.Config{Profile: p, Seed: seed}
}

// line returns the line of a quantity.
func line(t *testing.T, c report.Comparison, metric string) report.Line {
	t.Helper()
	i := slices.IndexFunc(c.Lines, func(l report.Line) bool { return l.Metric == metric })
	if i < 0 {
		t.Fatalf("%s is not compared: %+v", metric, c)
	}
	return c.Lines[i]
}

// TestTwoStacks holds that a comparison finds what the simulated stacks were made
// of: TTFT 796.1 against 822.6 ms and TPOT 2.80 against 7.36 ms.
func TestTwoStacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := newRig(t, map[string]sim.Config{
			"production-stack": simConfig(t, "production-stack", 1),
			"ray-serve":        simConfig(t, "ray-serve", 2),
		})
		defaults := map[string]string{} // 0.1 QPS of 21,000 tokens
		d := r.bench(t, []string{"production-stack", "ray-serve"}, Options{Requests: 10}, defaults)
		if took := time.Since(began); took < 90*time.Second || took > 2*time.Minute {
			t.Errorf("ten rounds took %v", took)
		}
		for _, s := range d.Summaries {
			if got := s.Throughput().Requests; got != 0.1 {
				t.Errorf("%s: %v requests/s of an offered 0.1", s.Target, got)
			}
		}
		c := d.Comparisons[0]
		ttft, tpot := line(t, c, "TTFT"), line(t, c, "TPOT")
		for value, i := range map[report.Number]report.Interval{
			0.8226 - 0.7961: ttft.Difference, 822.6 / 796.1: ttft.Ratio, 7.36 / 2.80: tpot.Ratio,
		} {
			if i.Low > value || i.High < value || i.Center < i.Low || i.Center > i.High {
				t.Errorf("an interval from %g to %g (median %g) does not hold the true %g", i.Low, i.High, i.Center, value)
			}
		}
		if percent := 100 * (ttft.Ratio.Center - 1); math.Abs(float64(percent)-3) > 1 || !ttft.Shown ||
			!tpot.Shown || ttft.Pairs != 10 {
			t.Errorf("TTFT %+.2f%% of %d pairs, shown %t, TPOT shown %t", percent, ttft.Pairs, ttft.Shown, tpot.Shown)
		}
		for _, s := range d.Summaries { // the median of the last ten answers, as the server wrote them down
			var sent []time.Duration
			for _, answer := range slices.Backward(r.servers[s.Target].Sent()) {
				if len(sent) < 10 {
					sent = append(sent, answer.Tokens[0].Sub(answer.Start))
				}
			}
			slices.Sort(sent)
			equal(t, "median TTFT of "+s.Target, medianOf(s.TTFT), (sent[4]+sent[5])/2)
		}
	})
}

// TestConfidenceIsOfTheWholeRun holds that all comparisons of a run share it, and that without --requests each step has
// enough of them to show a difference; with too few, that is said before the run.
func TestConfidenceIsOfTheWholeRun(t *testing.T) {
	for name, test := range map[string]struct {
		requests, made int
		unpaced        bool
		warning        string
	}{
		"by default": {0, 13, false, ""},
		"at once": {0, 1, true, "warning: 1 at once: requests in flight together are one pair, so no " +
			"difference can be shown: use "},
		"too few": {3, 3, false, "warning: concurrency 1: no difference can be shown with 3 requests of each " +
			"target, this step needs 11\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{
				"a": simConfig(t, "fast", 1), "b": simConfig(t, "fast", 2), "c": simConfig(t, "fast", 3),
			})
			var errs strings.Builder
			settings := map[string]string{"PROMPT_TOKENS": "80,120", "MAX_TOKENS": "5"}
			options := Options{Ladder: []int{1, 2}, Requests: test.requests, Unpaced: test.unpaced}
			run := newRun(r.setup(t, []string{"a", "b", "c"}, options, settings, io.Discard, &errs))
			if err := run.measureAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			equal(t, name+": comparisons", len(run.document.Comparisons), 2*2*2)
			for _, c := range run.document.Comparisons {
				equal(t, name+": comparisons that share the confidence", c.ComparisonsInRun, 2*2*2)
			}
			equal(t, name+": the last step", strings.HasSuffix(run.document.Comparisons[7].Load, ", prompts of 120 tokens"),
				true)
			equal(t, name+": requests of the first step", run.document.Summaries[0].Sent(), test.made)
			if got := errs.String(); strings.Count(got, "warning: ") != strings.Count(test.warning, "warning: ") ||
				!strings.Contains(got, test.warning) {
				t.Errorf("%s: %s", name, got)
			}
		})
	}
}

// TestResultsSoFar holds that a comparison under way shows a line for each target, of what has ended by then.
func TestResultsSoFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, map[string]sim.Config{"a": simConfig(t, "fast", 1), "b": simConfig(t, "fast", 2)})
		var out strings.Builder
		settings := map[string]string{"PROMPT_TOKENS": "80", "MAX_TOKENS": "5", "QPS": "1"}
		s := r.setup(t, []string{"a", "b"}, Options{Requests: 8, Every: 3500 * time.Millisecond}, settings, &out, io.Discard)
		if err := newRun(s).measureAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		const want = "so far, after 4s:\n" +
			"target  load    ok  req/s  tok/s  TTFT P50  TPOT P50  E2EL P50\n" +
			"a       1 QPS  4/4   1.00   5.00"
		if text := out.String(); strings.Count(text, "so far, after ") != 2 || !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	})
}

// TestRoundsAreEnough holds that nothing is said about too few requests where targets take turns by the clock.
func TestRoundsAreEnough(t *testing.T) {
	for requests, want := range map[int]string{0: "", 8: "",
		7: "warning: 5 QPS: no difference can be shown with 7 requests of each target, this step needs 8\n"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{"a": simConfig(t, "fast", 1), "b": simConfig(t, "fast", 2)})
			var errs strings.Builder
			settings := map[string]string{"PROMPT_TOKENS": "80", "MAX_TOKENS": "5", "QPS": "5"}
			d := r.setup(t, []string{"a", "b"}, Options{Requests: requests}, settings, io.Discard, &errs)
			if err := newRun(d).measureAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := errs.String(); !strings.Contains(got, want) || strings.Contains(got, "warning") != (want != "") {
				t.Errorf("%d requests: %s", requests, got)
			}
		})
	}
}

// TestAServerThatFails holds that it stops neither the run nor the other target, and that the
// document says why nothing of it succeeded. Without the other, the run has failed.
func TestAServerThatFails(t *testing.T) {
	for name, names := range map[string][]string{"beside another": {"ill", "well"}, "alone": {"ill"}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{"ill": simConfig(t, "production-stack", 1), "well": simConfig(t, "fast", 2)})
			down := time.AfterFunc(100*time.Millisecond, func() { // the warm-up is under way by then
				if err := r.servers["ill"].SetFault(sim.Fault{Status: 503}); err != nil {
					t.Error(err)
				}
			})
			defer down.Stop()
			var out, errs strings.Builder
			settings := map[string]string{"PROMPT_TOKENS": "2000"}
			run := newRun(r.setup(t, names, Options{Requests: 4, Unpaced: true}, settings, &out, &errs))
			if err := run.measureAll(t.Context()); errors.Is(err, ErrFailed) != (len(names) == 1) {
				t.Errorf("%s: %v", name, err)
			}
			d := run.document
			ill, well := d.Summaries[0], d.Summaries[len(names)-1]
			f := ill.Failures[0]
			if len(ill.Failures) != 1 || f.Outcome != probe.Overloaded || f.Requests != 4 || f.Hint == "" {
				t.Errorf("%s: failures %+v", name, ill.Failures)
			}
			equal(t, name+": TTFT of failures", ill.TTFT.Count, 0)
			if len(names) == 1 {
				const want = "4 of 4 requests failed (overloaded): HTTP 503"
				if !strings.Contains(out.String(), want) || !strings.Contains(errs.String(), "no request succeeded") {
					t.Errorf("no %q in\n%s\n%s", want, out.String(), errs.String())
				}
			} else if c := d.Comparisons[0]; well.Succeeded() != 4 || len(c.Lines) != 0 || len(c.Warnings) == 0 {
				t.Errorf("well %v; nothing can be compared, and that is to be said: %+v", well.Outcomes, c)
			}
		})
	}
}

// TestADeadFirstTarget holds that the other is measured with prompts of the length asked, and that none is made on the
// way there.
func TestADeadFirstTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, map[string]sim.Config{"well": simConfig(t, "fast", 1)})
		settings := map[string]string{"PROMPT_TOKENS": "2000", "QPS": "1"}
		setup := r.setup(t, []string{"dead", "well"}, Options{Requests: 4}, settings, io.Discard, io.Discard)
		setup.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "dead:80" {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			return r.dial(ctx, network, address)
		}
		run := newRun(setup)
		if err := run.measureAll(t.Context()); err != nil {
			t.Error(err)
		}
		dead, well := run.document.Summaries[0], run.document.Summaries[1]
		if dead.Outcomes[probe.Connect] != 4 || dead.Succeeded() != 0 {
			t.Errorf("the dead one: %v", dead.Outcomes)
		}
		if well.Succeeded() != 4 || well.TTFT.Count != 4 || well.Input != 4*2000 {
			t.Errorf("the other: %v, %d TTFT, %v tokens of prompts", well.Outcomes, well.TTFT.Count, well.Input)
		}
	})
}

// TestAnInterruptShowsWhatWasMeasured holds that Ctrl-C loses nothing: the block
// of the requests that had ended, and exit code 1.
func TestAnInterruptShowsWhatWasMeasured(t *testing.T) {
	for format, want := range map[string]string{
		"text": "Successful requests:                     3 ",
		"json": `"succeeded_requests": 3`,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{"it": simConfig(t, "production-stack", 1)})
			ctx, stop := context.WithTimeout(t.Context(), 31500*time.Millisecond)
			defer stop()
			var out, errs strings.Builder
			err := Run(ctx, r.setup(t, []string{"it"}, Options{Requests: 10, Format: format}, map[string]string{}, &out, &errs))
			if !errors.Is(err, ErrFailed) {
				t.Errorf("%s: %v", format, err)
			}
			const cut, progress = "1 request canceled at the end of the run: not counted", "0.1 QPS  3/10  30s  ETA 1m10s\n"
			for text, where := range map[string]string{
				want: out.String(), cut: out.String(), "interrupted": errs.String(), progress: errs.String(),
			} {
				if !strings.Contains(where, text) {
					t.Errorf("%s: no %q in\n%s", format, text, where)
				}
			}
		})
	}
}

// TestLengthsOfPrompts holds that a block does not say a length that its prompts have not: those of sessions grow.
func TestLengthsOfPrompts(t *testing.T) {
	for workload, want := range map[string]int{"cold": 300, "sessions": 0} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{"it": simConfig(t, "fast", 1)})
			settings := map[string]string{"PROMPT_TOKENS": "300", "PROMPT": workload, "SESSION_USERS": "2"}
			d := r.bench(t, []string{"it"}, Options{Requests: 6, Concurrency: 1}, settings)
			equal(t, workload, d.Summaries[0].PromptTokens, want)
		})
	}
}

// TestWhatIsSpecialAboutAServerIsSaid holds that a bench says what its results mean on such a server.
func TestWhatIsSpecialAboutAServerIsSaid(t *testing.T) {
	const few = "only 2 requests: quantiles from P75 on rest on fewer than ten samples"
	for server, want := range map[string]report.Texts{
		"llama-cpp-python": {few, "this server is llama-cpp-python: its streams tell no token counts: no TPOT, no ITL; " +
			"unless told not to (interrupt_requests), it breaks off the answer under way for a new request"},
		"vllm": {few},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{"it": simConfig(t, "fast", 1)})
			settings := map[string]string{"PROMPT_TOKENS": "80", "SERVER": server}
			d := r.bench(t, []string{"it"}, Options{Requests: 2, Concurrency: 2}, settings)
			equal(t, server, d.Summaries[0].Warnings, want)
		})
	}
}

// TestTwoWaysToOneServer holds that its cache makes no difference between them: a
// salt keeps them apart, or what the cache had is not compared.
func TestTwoWaysToOneServer(t *testing.T) {
	for name, test := range map[string]struct {
		rejects           string
		compared, warning string
	}{
		"salted": {"", "TTFT TPOT ITL E2EL", ""},
		"told":   {"cache_salt", "TPOT ITL", "a cache had 0 of 8 prompts of a and 8 of 8 of b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{"a": simConfig(t, "production-stack", 1)})
			r.rejects = test.rejects
			r.listeners["b:80"] = r.listeners["a:80"]
			settings := map[string]string{"PROMPT_TOKENS": "2000", "MAX_TOKENS": "10"}
			c := r.bench(t, []string{"a", "b"}, Options{Requests: 8, Concurrency: 1}, settings).Comparisons[0]
			var metrics []string
			for _, l := range c.Lines {
				metrics = append(metrics, l.Metric)
				if l.Shown {
					t.Errorf("%s: %s", name, report.Verdict(l, "a", "b"))
				}
			}
			if strings.Join(metrics, " ") != test.compared || !strings.Contains(strings.Join(c.Warnings, " "), test.warning) {
				t.Errorf("%s: %s are compared, warnings %q", name, metrics, c.Warnings)
			}
		})
	}
}

// TestLostResultsAreAFailure holds that a script learns of blocks that it did not
// get.
func TestLostResultsAreAFailure(t *testing.T) {
	for _, format := range []string{"text", "json", "markdown"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{"it": simConfig(t, "fast", 1)})
			disk, out := io.Pipe()
			_ = disk.CloseWithError(syscall.ENOSPC)
			options := Options{Requests: 1, Unpaced: true, Format: format}
			settings := map[string]string{"PROMPT_TOKENS": "80"}
			setup := r.setup(t, []string{"it"}, options, settings, out, io.Discard)
			if err := Run(t.Context(), setup); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v", format, err)
			}
		})
	}
}
