package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/bench"
	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/report"
)

func newBench() *cobra.Command {
	var o bench.Options
	var g gate
	cmd := &cobra.Command{
		Use:   "bench [[NAME=]URL…]",
		Short: "Measure a finite run and print vLLM's benchmark_serving table; several targets are compared",
		Long: `Bench sends a finite number of requests, measured as all probes are, and prints vLLM's
benchmark_serving table. By default it sends ten requests at the configured rate.

  --qps X             requests begin by the clock, X per second and target, however late
                      the answers are; a comparison of ten rounds at --qps 1 measures what
                      one at --qps 0.1 does, in a tenth of the time
  --qps inf           as many as --requests says, all at once
  --concurrency N     a closed loop of N requests; with --qps the most that may be in flight
  --ladder 1,2,4      a step each: a closed loop of that concurrency, or with --qps inf
                      so many at once
  --qps 0.5,1,2       a step each: that rate
  --prompt-tokens A,B all of that for each length

Several URLs, or several targets of one group, are compared: they answer the same prompts,
by the clock in rounds one after another, else one target after the other. At the end come
each difference from the first target, its confidence interval and whether it is significant.

Warm-up requests, which make the prompt's length exact, are not counted. Ctrl-C prints the
results so far. With OTEL_EXPORTER_OTLP_ENDPOINT the requests are exported as those of run are.

Exit code: 0 if the run was finished and some request succeeded, 1 if not, 2 for usage or
configuration, 3 for what --fail-on names.`,
		Example: `  prober bench http://localhost:8000 --requests 100 --concurrency 8 --prompt-tokens 1000
  prober bench http://localhost:8000 --ladder 1,2,4,8,16,32 --prompt-tokens 80,10000 --plot ladder.html
  prober bench left=http://localhost:8801 right=http://localhost:8802 --requests 10
  prober bench old=http://a:8000 new=http://b:8000 --requests 60 --objective ttft=2s@95% --fail-on objective,regression`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			assets := engine.NewAssets(config.ReadFile)
			load := func(settings map[string]string) (*config.Config, error) {
				return loadConfig(g.options(cmd, settings, urls), assets)
			}
			o.FailOn = g.failOn
			plan, err := bench.Parse(o, cmd.Flags().Changed, overrides(cmd), urls, load)
			if err != nil {
				return err
			}
			return runBench(cmd, plan, assets)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Requests, "requests", 0, "requests of each target in a step (default 10, or 10 times --concurrency)")
	flags.DurationVar(&o.Duration, "duration", 0, "time within which the requests of a step begin")
	flags.IntVar(&o.Concurrency, "concurrency", 0, "requests of a target in flight")
	flags.IntSliceVar(&o.Ladder, "ladder", nil, "steps, each a closed loop of that concurrency: 1,2,4,8")
	flags.DurationVar(&o.Every, "every", 30*time.Second, "time between intermediate blocks of a comparison; 0 for none")
	flags.StringVar(&o.Format, "format", "text", "text, json or markdown")
	flags.StringVar(&o.Plot, "plot", "", "file for the page with tables and plots, .html: distributions and timelines, or the curves of a ladder")
	g.addFlags(cmd, "objective, regression (of two targets, the second is significantly slower), or both")
	flags.Lookup("qps").Usage = "requests per second and target, several for a step each, or inf: no clock; PROBER_QPS"
	flags.Lookup("prompt-tokens").Usage = "exact length of a prompt in tokens, or several: 80,10000; PROBER_PROMPT_TOKENS"
	return cmd
}

// runBench runs a plan, and exports its requests over OTLP if that is configured.
func runBench(cmd *cobra.Command, plan *bench.Plan, assets *engine.Assets) error {
	out, errs, build := cmd.OutOrStdout(), cmd.ErrOrStderr(), buildInfo()
	observers, err := engine.NewObservers(cmd.Context(), plan.Lengths[0], build, newLog(errs, "warn", "console"))
	if err != nil {
		return err
	}
	if !observers.Metrics.Exporting() {
		observers = nil
	}
	return bench.Run(cmd.Context(), bench.Setup{
		Plan: plan, Assets: assets, Observers: observers, Version: build.Version,
		Screen: report.NewScreen(out, errs, plan.Format), Out: out,
	})
}
