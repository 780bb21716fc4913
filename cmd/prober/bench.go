package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/bench"
	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

func newBench() *cobra.Command {
	var line bench.CommandLine
	var judged judgeFlags
	cmd := &cobra.Command{
		Use:        "bench [[NAME=]URL…]",
		SuggestFor: []string{"gate", "compare"}, // the subject of docs/gate.md
		Short:      "Measure a finite run as vLLM's benchmark_serving; compare targets",
		Long: `Bench sends a finite number of requests, measured as all probes are, and prints
vLLM's benchmark_serving table. By default it sends ten at the configured rate,
and in a comparison 20 to each target, or as many more as its steps need.

  --qps X              X per second and target, on schedule; inf: all at once
  --qps 0.5,1,2        one step for each rate
  --concurrency N      closed loop with N in flight; with --qps, at most N
  --ladder 1,2,4       a closed loop for each; with --qps inf, that many at once
  --prompt-tokens A,B  repeat the run with each prompt length

Several URLs, or several targets of one group, are compared: they answer the
same prompts, and each difference from the first has its confidence interval.

With --qps, requests start on schedule even if earlier answers are late. As long
as answers end before the next request, ten rounds at --qps 1 give the same
result as ten at --qps 0.1, in a tenth of the time.
With --qps, several targets are asked in rounds, one after another; otherwise
one target has its whole step before the next. If OTEL_EXPORTER_OTLP_ENDPOINT is
set, requests are exported as those of run are.

Warm-up requests are not counted. Exit code: 0 if the run was finished and some
request succeeded; 1 if none did, a group did not answer, or after Ctrl-C, which
prints the results so far; 2 for usage; 3 for what --fail-on names.`,
		Example: `  prober bench http://localhost:8000 --requests 100 --concurrency 8
  prober bench http://localhost:8000 --ladder 1,2,4,8,16 --plot ladder.html
  prober bench old=http://a:8000 new=http://b:8000 --fail-on regression`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			f := files.New()
			var gate report.Gate
			line.URLs = urls
			line.Changed = cmd.Flags().Changed
			line.Settings = overrides(cmd)
			line.Load = func(settings map[string]string) (*config.Config, error) {
				c, err := loadListed(cmd, config.Options{
					Overrides: settings, URLs: urls, Objectives: judged.objectives, Finite: true,
				}, f)
				if err != nil {
					return nil, err
				}
				// The gate is the same for all lengths.
				gate, err = judged.gate(c, report.Judged{Compared: true, Pair: bench.IsPair(c.Targets)})
				return c, err
			}
			plan, err := bench.NewPlan(line)
			err = withOutputProblems(err, line.Format, line.Plot)
			if err != nil {
				return err
			}
			plan.Gate = gate
			return runBench(cmd, plan, f)
		},
	}
	addBenchFlags(cmd, &line, &judged)
	return cmd
}

// addBenchFlags adds the flags that only bench has, and then the others.
func addBenchFlags(cmd *cobra.Command, line *bench.CommandLine, judged *judgeFlags) {
	flags := cmd.Flags()
	flags.IntVar(&line.Requests, "requests", 0,
		"requests of each target in a step (default 10, in a comparison 20 or more; times the concurrency)")
	flags.DurationVar(&line.Duration, "duration", 0, "time within which the requests of a step begin")
	flags.IntVar(&line.Concurrency, "concurrency", 0, "requests of a target in flight")
	flags.IntSliceVar(&line.Ladder, "ladder", nil, "steps, each a closed loop of that concurrency: 1,2,4,8")
	flags.DurationVar(&line.Every, "every", 30*time.Second,
		"time between intermediate results of a comparison; 0 for none")
	flags.StringVar(&line.Format, "format", "text", "text, json or markdown")
	flags.StringVar(&line.Plot, "plot", "",
		"`file` for the page with tables and plots, .html: distributions and timelines, or the curves of a ladder")
	judged.add(cmd, "objective, regression (the second of two targets is significantly slower) or 'regression>5%'")
	addConfigFlags(cmd, cmd.Name())
	flags.Lookup("qps").Usage = "requests per second and target, several for a step each, or inf: no clock"
	flags.Lookup("prompt-tokens").Usage = "exact length of a prompt in tokens, or several: 80,10000"
}

// withOutputProblems returns err with the problems of --format and --plot added, so that a user sees all problems at
// once. It returns an error that is no [usage.Problems] as it is. Without --plot, plot is empty.
func withOutputProblems(err error, layout, plot string) error {
	others, isUsage := errors.AsType[usage.Problems](err)
	if err != nil && !isUsage {
		return err
	}
	problems := checkFormat(layout, "text", "json", "markdown")
	place := usage.FlagPlace("plot", plot)
	_, errDir := os.Stat(filepath.Dir(plot))
	switch {
	case plot == "":
	case filepath.Ext(plot) != ".html":
		problems.Add(place, "not a page", "want a file that ends with .html")
	case errDir != nil:
		problems.Add(place, errDir.Error(), "want a file that can be written")
	}
	problems = append(problems, others...)
	if problems == nil {
		return nil
	}
	return problems
}

// runBench runs a plan. It exports the requests over OTLP if that is configured.
func runBench(cmd *cobra.Command, plan *bench.Plan, f *files.Files) error {
	out := cmd.OutOrStdout()
	errs := cmd.ErrOrStderr()
	build := buildInfo()
	observers, err := observe.New(cmd.Context(), plan.Lengths[0], build, newLog(errs, "warn", "console"))
	if err != nil {
		return err
	}
	if !observers.Metrics.Exporting() {
		observers = nil
	}
	return bench.Run(cmd.Context(), bench.Setup{
		Plan: plan, Files: f, Observers: observers, Version: build.Version,
		Screen: bench.NewScreen(out, errs, plan.Format), Out: out,
	})
}
