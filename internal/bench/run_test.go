package bench

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/testing/exposition"
)

// TestTwoStacks holds that a comparison finds what the simulated stacks were made of, TTFT 796.1 against 822.6 ms and
// TPOT 2.80 against 7.36 ms, and that a summary has what the server noted.
func TestTwoStacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "production-stack", "production-stack")
		r.servers.Serve("ray-serve", "ray-serve")
		run := r.newRun(CommandLine{Requests: 10}, []string{"production-stack", "ray-serve"},
			"PROMPT_TOKENS", "21000", "MAX_TOKENS", "100")
		d := run.measure(t)

		ttft, tpot := line(t, d.Comparisons[0], "TTFT"), line(t, d.Comparisons[0], "TPOT")
		equal(t, "pairs", ttft.Pairs, 10)
		for what, shown := range map[string]report.Line{"TTFT": ttft, "TPOT": tpot} {
			equal(t, "whether a difference is shown in "+what, shown.Shown, true)
		}
		for truth, i := range map[stats.Number]stats.Interval{
			0.8226 - 0.7961: ttft.Seconds, 822.6 / 796.1: ttft.Ratio, 7.36 / 2.80: tpot.Ratio,
		} {
			if truth < i.Low || truth > i.High {
				t.Errorf("the interval from %g to %g does not hold the true %g", i.Low, i.High, truth)
			}
		}
		for _, s := range d.Summaries {
			equal(t, s.Target+": requests per second, of 0.1 that are asked for", s.Throughput().RequestRate, stats.Number(0.1))
			answers := r.servers.Simulator(s.Target).Sent()
			var sent []time.Duration
			for _, answer := range answers[len(answers)-10:] { // the others are the warm-up's
				sent = append(sent, answer.Tokens[0].Sub(answer.Start))
			}
			slices.Sort(sent)
			median := time.Duration(float64(s.TTFT.At(stats.P50)) * float64(time.Second))
			equal(t, s.Target+": median TTFT", median.Round(time.Microsecond),
				((sent[4] + sent[5]) / 2).Round(time.Microsecond))
		}
	})
}

// TestConfidenceIsOfTheWholeRun holds that all comparisons of a run share it, that without --requests each step has
// enough requests to show a difference, and that each step has its own name.
func TestConfidenceIsOfTheWholeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "a", "b", "c")
		run := r.newRun(CommandLine{Ladder: []int{1, 2}}, []string{"a", "b", "c"}, "PROMPT_TOKENS", "80,120")
		d := run.measure(t)
		var loads []string
		var inPair, atOnce []int
		for _, c := range d.Comparisons {
			loads = append(loads, c.Load)
			inPair = append(inPair, c.RequestsInPair)
			contains(t, "warnings", strings.Join(c.Warnings, "\n"), report.MeasuredInTurn)
			equal(t, "comparisons that share the confidence", c.ComparisonsInRun, 2*2*2)
		}
		equal(t, "steps", slices.Compact(loads), []string{
			"concurrency 1, prompts of 80 tokens", "concurrency 2, prompts of 80 tokens",
			"concurrency 1, prompts of 120 tokens", "concurrency 2, prompts of 120 tokens",
		})
		equal(t, "comparisons", len(loads), 2*2*2)
		for _, s := range d.Summaries {
			atOnce = append(atOnce, s.AtOnce)
		}
		equal(t, "requests in a pair", slices.Compact(inPair), []int{1, 2, 1, 2})
		equal(t, "requests in flight", slices.Compact(atOnce), []int{1, 2, 1, 2})
		equal(t, "requests of the first step", d.Summaries[0].Sent(), 23)
		equal(t, "warnings", strings.Count(run.errs.String(), "warning: "), 0)
	})
}

// TestTooFewRequestsAreSaidBeforeTheRun holds that only the first step with too few is named.
func TestTooFewRequestsAreSaidBeforeTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "a", "b", "c")
		run := r.newRun(CommandLine{Ladder: []int{1, 2}, Requests: 3}, []string{"a", "b", "c"}, "PROMPT_TOKENS", "80,120")
		run.measure(t)
		before, _, _ := strings.Cut(run.errs.String(), "warm-up: ")
		equal(t, "errs", before, "warning: concurrency 1: no difference can be shown with 3 requests of each target, "+
			"this step needs 11\n")
	})
}

func TestTooFewRequests(t *testing.T) {
	eachSecond := func(requests int, limit time.Duration) Load {
		return Load{ByTheClock: true, Plan: schedule.Plan{Interval: time.Second}, Requests: requests, Limit: limit}
	}
	for name, test := range map[string]struct {
		load        Load
		comparisons int
		want        string
	}{
		"enough rounds":                   {eachSecond(8, 0), 1, ""},
		"one round less":                  {eachSecond(7, 0), 1, "this step needs 8"},
		"two workers need twice as many":  {Load{Concurrency: 2, Requests: 15}, 1, "this step needs 16"},
		"more comparisons need more":      {Load{Concurrency: 1, Requests: 8}, 8, "this step needs 11"},
		"all at once":                     {Load{Requests: 99}, 1, "requests in flight together are one pair"},
		"nothing is compared":             {Load{Requests: 1}, 0, ""},
		"only time limits them":           {Load{Concurrency: 1, Limit: time.Second}, 1, ""},
		"time limits them, by the clock":  {eachSecond(0, 7*time.Second), 1, "this step needs 8"},
		"time is enough for eight rounds": {eachSecond(0, 8*time.Second), 1, ""},
	} {
		r := &run{comparisons: test.comparisons}
		got := r.tooFewRequests(test.load)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestResultsSoFar holds that a comparison under way shows a line for each target, of what has ended by then.
func TestResultsSoFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "a", "b")
		every := CommandLine{Requests: 8, Every: 3500 * time.Millisecond}
		run := r.newRun(every, []string{"a", "b"}, "QPS", "1")
		run.measure(t)
		contains(t, "output", run.out.String(), "so far, after 4s:\n"+
			"target  load    ok  req/s  tok/s  TTFT P50  TPOT P50  E2EL P50\n"+
			"a       1 QPS  4/4   1.00   5.00")
		equal(t, "intermediate results", strings.Count(run.out.String(), "so far, after "), 2)
	})
}

// TestResultsSoFarOfOneTarget holds that intermediate results name the only target that was asked by then, because
// targets without a clock are asked one after the other.
func TestResultsSoFarOfOneTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "a", "b")
		every := CommandLine{Concurrency: 1, Duration: 4 * time.Second, Every: 3 * time.Second}
		run := r.newRun(every, []string{"a", "b"}, "MAX_TOKENS", "900")
		run.measure(t)
		contains(t, "output", run.out.String(), "a so far, after 3s:\nload            ok")
	})
}

// TestAServerThatFails holds that it stops neither the run nor the other target, and that the document says why nothing
// of it succeeded and why nothing is compared.
func TestAServerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "production-stack", "ill", "well")
		r.servers.FailAfter(100*time.Millisecond, "ill", sim.Fault{Status: 503}) // the warm-up is under way by then
		d := r.newRun(CommandLine{Requests: 4}, []string{"ill", "well"}, "QPS", "inf", "PROMPT_TOKENS", "2000").measure(t)
		ill, well := d.Summaries[0], d.Summaries[1]
		equal(t, "requests that succeeded of well", well.Succeeded(), 4)
		equal(t, "TTFT of ill", ill.TTFT.Count, 0)
		equal(t, "failures of ill", len(ill.Failures), 1)
		equal(t, "outcome", ill.Failures[0].Outcome, probe.Overloaded)
		equal(t, "failed requests", ill.Failures[0].Requests, 4)
		equal(t, "whether there is a hint", ill.Failures[0].Hint != "", true)
		equal(t, "lines of the comparison", len(d.Comparisons[0].Lines), 0)
		equal(t, "whether there is a reason", len(d.Comparisons[0].Warnings) > 0, true)
	})
}

// TestNoRequestSucceeds holds that the run has failed, and that this is said with the reason: in the blocks of a text,
// or beside a document.
func TestNoRequestSucceeds(t *testing.T) {
	for format, reason := range map[string]string{
		"text": "4 of 4 requests failed (overloaded): HTTP 503",
		"json": "no request succeeded\nill: overloaded (4 times): HTTP 503",
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "production-stack", "ill")
			r.servers.FailAfter(100*time.Millisecond, "ill", sim.Fault{Status: 503})
			run := r.newRun(CommandLine{Requests: 4, Format: format}, []string{"ill"},
				"QPS", "inf", "PROMPT_TOKENS", "2000")
			if err := run.measureAll(t.Context()); !errors.Is(err, ErrFailed) {
				t.Errorf("%s: %v, want that it failed", format, err)
			}
			contains(t, format, run.out.String()+run.errs.String(), reason)
			contains(t, format, run.errs.String(), "no request succeeded\n")
		})
	}
}

// TestADeadFirstTarget holds that the other is measured with prompts of the length asked, and that none is made on the
// way there.
func TestADeadFirstTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "well", "dead")
		r.servers.Down("dead")
		d := r.newRun(CommandLine{Requests: 4}, []string{"dead", "well"}, "PROMPT_TOKENS", "2000", "QPS", "1").measure(t)
		dead, well := d.Summaries[0], d.Summaries[1]
		equal(t, "outcomes of dead", dead.Outcomes, map[probe.Outcome]int{probe.Connect: 4})
		equal(t, "outcomes of well", well.Outcomes, map[probe.Outcome]int{probe.OK: 4})
		equal(t, "TTFT of well", well.TTFT.Count, 4)
		equal(t, "tokens of well's prompts", well.InputTokens, 4*2000)
	})
}

// TestASpentBudget holds that a request that the budget does not allow is counted, and that the summary says why some
// were not made. The warm-up spends 85 tokens, as each request does.
func TestASpentBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "it")
		run := r.newRun(CommandLine{Requests: 4, Concurrency: 1}, []string{"it"}, "TOKEN_BUDGET_PER_DAY", "300")
		s := run.measure(t).Summaries[0]
		equal(t, "requests sent", s.Sent(), 2)
		equal(t, "requests skipped", s.Skipped, map[probe.Skip]int{probe.SkipBudget: 1})
		contains(t, "warnings", strings.Join(s.Warnings, "\n"),
			"1 of 4 requests were not made: the token budget of the day is spent")
	})
}

// TestSkippedRequestsAreProgress holds that a step of requests that are skipped comes nearer to its end.
func TestSkippedRequestsAreProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "it")
		r.servers.Fail("it", sim.Fault{TTFT: 175}) // 3.5 s
		run := r.newRun(CommandLine{Requests: 16, Concurrency: 1}, []string{"it"}, "QPS", "1")
		s := run.measure(t).Summaries[0]
		equal(t, "requests skipped", s.Skipped, map[probe.Skip]int{probe.SkipOverlap: 12})
		contains(t, "errs", run.errs.String(), "1 QPS  9/16  10s  ETA 8s\n")
	})
}

// TestTheBudgetIsOfTheWholeRun holds that prompts of another length do not begin a new day.
func TestTheBudgetIsOfTheWholeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "it")
		run := r.newRun(CommandLine{Requests: 2, Concurrency: 1}, []string{"it"},
			"PROMPT_TOKENS", "80,90", "TOKEN_BUDGET_PER_DAY", "400")
		run.measure(t)
		var sent []int
		for _, s := range run.document.Summaries {
			sent = append(sent, s.Sent())
		}
		equal(t, "requests sent", sent, []int{2, 0})
	})
}

// TestWhatWasLearnedOfAServerIsKept holds that a server which rejects a field is not asked with it again when the
// prompts have another length.
func TestWhatWasLearnedOfAServerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "it")
		rejections := 0
		r.servers.Answer("it", func(w http.ResponseWriter, request *http.Request) {
			answer := httptest.NewRecorder()
			rejecting("cache_salt", r.servers.Simulator("it"))(answer, request)
			if answer.Code == http.StatusBadRequest {
				rejections++
			}
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
		r.newRun(CommandLine{Requests: 2, Concurrency: 1}, []string{"it"}, "PROMPT_TOKENS", "80,90").measure(t)
		equal(t, "rejected requests", rejections, 1)
	})
}

// TestEachRateHasItsOwnTurns holds that a slow server delays the next one in a round by half of the interval of this
// step, not of the one before.
func TestEachRateHasItsOwnTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "a", "b")
		r.servers.Fail("a", sim.Fault{TTFT: 100})
		r.servers.Fail("b", sim.Fault{TTFT: 100})
		r.newRun(CommandLine{Requests: 1}, []string{"a", "b"}, "QPS", "1,4").measure(t)
		var distances []time.Duration
		a, b := r.servers.Simulator("a").Sent(), r.servers.Simulator("b").Sent()
		for i := range 2 { // of the two steps
			distances = append(distances, b[len(b)-2+i].Start.Sub(a[len(a)-2+i].Start).Abs())
		}
		equal(t, "time between the members of a round", distances, ms(500, 125))
	})
}

// TestRequestsAreExported holds that the metrics have what was measured and what was skipped.
func TestRequestsAreExported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRig(t, "fast", "it").newRun(CommandLine{Requests: 4, Concurrency: 1}, []string{"it"},
			"TOKEN_BUDGET_PER_DAY", "300")
		observers, err := observe.New(t.Context(), run.Plan.Lengths[0], telemetry.Build{}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		run.Observers = observers
		run.measure(t)
		page := exposition.Serve(observers.Metrics.Handler(nil), "/metrics")
		equal(t, "slots", exposition.Slots(page), map[string]string{"it": "ok=2 budget=1"})
	})
}

// TestAnInterruptShowsWhatWasMeasured holds that Ctrl-C loses nothing: there are the requests that had ended, a note,
// and exit code 1.
func TestAnInterruptShowsWhatWasMeasured(t *testing.T) {
	for format, want := range map[string]string{
		"text": "Successful requests:                     3 ",
		"json": `"succeeded_requests": 3`,
	} {
		synctest.Test(t, func(t *testing.T) {
			run := newRig(t, "production-stack", "it").newRun(CommandLine{Requests: 10, Format: format}, []string{"it"},
				"PROMPT_TOKENS", "21000", "MAX_TOKENS", "100")
			ctx, interrupt := context.WithTimeout(t.Context(), 31500*time.Millisecond)
			defer interrupt()
			if err := Run(ctx, run.Setup); !errors.Is(err, ErrFailed) {
				t.Errorf("%s: %v, want that it failed", format, err)
			}
			contains(t, format, run.out.String(), want)
			contains(t, format, run.out.String(), "1 request canceled at the end of the run: not counted")
			contains(t, format, run.out.String(), "7 of 10 requests were not made or not completed: the run was")
			contains(t, format, run.errs.String(), "interrupted: ")
			contains(t, format, run.errs.String(), "0.1 QPS  3/10  30s  ETA 1m10s\n")
		})
	}
}

// TestPromptTokens holds that a block does not say a length that its prompts have not: those of sessions grow.
func TestPromptTokens(t *testing.T) {
	for workload, want := range map[string]int{"cold": 300, "sessions": 0, "dataset": 0} {
		var target config.Target
		target.Prompt = workload
		target.PromptTokens = 300
		equal(t, workload, promptTokens(target), want)
	}
}

// TestPromptsThatAServerTruncates holds that the screen says after the warm-up which prompts are not as long as was
// asked, and of which target.
func TestPromptsThatAServerTruncates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "fast", "whole", "short")
		r.servers.Answer("short", truncating(60, r.servers.Simulator("short")))
		run := r.newRun(CommandLine{Requests: 1, Concurrency: 1}, []string{"whole", "short"})
		run.measure(t)
		_, after, _ := strings.Cut(run.errs.String(), "warm-up: ")
		equal(t, "errs", after, "prompts of 80 tokens, not counted (at most 120 s each)\n"+
			"short: the prompts have 80 tokens as whole counts them, and 60 as this server does\n")
	})
}

// TestStartDelayWarning holds when requests began too late for their TTFT.
func TestStartDelayWarning(t *testing.T) {
	for name, test := range map[string]struct {
		startDelays []time.Duration
		ttft        time.Duration
		want        string
	}{
		"a tenth of TTFT":                  {ms(100), time.Second, ""},
		"more than a tenth":                {ms(150), time.Second, "up to 150 ms after they were due (p99, 15% of"},
		"more than a tenth, as it must be": {ms(5), 20 * time.Millisecond, ""},
		"one request of 100":               {slices.Concat(make([]time.Duration, 99), ms(1000)), time.Second, ""},
		"two requests of 100": {
			slices.Concat(make([]time.Duration, 98), ms(500, 500)), time.Second, "50% of the median TTFT",
		},
	} {
		step := &report.Step{}
		for _, late := range test.startDelays {
			step.Add(report.Sample{
				Outcome: probe.OK, Late: late, Latencies: report.Latencies{TTFT: stats.Number(test.ttft.Seconds())},
			})
		}
		got := startDelayWarning(step.Samples(), step.Summary().TTFT)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	equal(t, "without TTFT", startDelayWarning([]report.Sample{{Late: time.Hour}}, stats.Distribution{}), "")
}

// TestWarningsOfACompleteRun holds that a bench says what its results mean on a server, and nothing else.
func TestWarningsOfACompleteRun(t *testing.T) {
	const few = "only 2 requests: quantiles from P75 on rest on fewer than ten samples"
	for server, want := range map[string]report.Texts{
		"llama-cpp-python": {few, "this server is llama-cpp-python: its streams tell no token counts: no TPOT, no ITL; " +
			"unless told not to (interrupt_requests), it breaks off the answer under way for a new request"},
		"vllm": {few},
	} {
		synctest.Test(t, func(t *testing.T) {
			run := newRig(t, "fast", "it").newRun(CommandLine{Requests: 2, Concurrency: 2}, []string{"it"}, "SERVER", server)
			equal(t, server, run.measure(t).Summaries[0].Warnings, want)
		})
	}
}

// TestTwoWaysToOneServer holds that its cache makes no difference between them: a salt keeps them apart, or what the
// cache had is not compared.
func TestTwoWaysToOneServer(t *testing.T) {
	for name, test := range map[string]struct {
		rejects           string
		compared, warning string
	}{
		"a server that takes a salt":    {"nothing", "TTFT TPOT ITL E2EL", ""},
		"a server that rejects a salt ": {"cache_salt", "TPOT ITL", "a cache had 0 of 8 prompts of a and 8 of 8 of b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "production-stack", "a", "b")
			server := rejecting(test.rejects, r.servers.Simulator("a"))
			r.servers.Answer("a", server)
			r.servers.Answer("b", server)
			run := r.newRun(CommandLine{Requests: 8, Concurrency: 1}, []string{"a", "b"}, "PROMPT_TOKENS", "2000")
			c := run.measure(t).Comparisons[0]
			var metrics []string
			for _, l := range c.Lines {
				metrics = append(metrics, l.Metric)
				equal(t, name+": whether a difference is shown in "+l.Metric, l.Shown, false)
			}
			equal(t, name, strings.Join(metrics, " "), test.compared)
			contains(t, name, strings.Join(c.Warnings, " "), test.warning)
		})
	}
}

// TestLostResultsAreAFailure holds that a script learns of blocks that it did not get.
func TestLostResultsAreAFailure(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		synctest.Test(t, func(t *testing.T) {
			run := newRig(t, "fast", "it").newRun(CommandLine{Requests: 1, Format: format}, []string{"it"}, "QPS", "inf")
			disk, out := io.Pipe()
			_ = disk.CloseWithError(syscall.ENOSPC)
			run.Out = out
			run.Screen = NewScreen(out, io.Discard, format)
			if err := Run(t.Context(), run.Setup); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v, want that the disk is full", format, err)
			}
		})
	}
}
