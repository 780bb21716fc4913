package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-prober/prober/internal/engine"
)

// A benchmark is what the bench verb was told, but for the configuration.
type benchmark struct {
	requests    int
	duration    time.Duration
	concurrency int
	ladder      []int
	every       time.Duration
	format      string
	plot        string
}

func newBench() *cobra.Command {
	var b benchmark
	cmd := &cobra.Command{
		Use:   "bench [[NAME=]URL…]",
		Short: "Measure a finite run and print the tables people know; several targets are compared",
		Long: `Bench sends a finite number of requests, measured as all probes are, and prints the block
of vLLM's benchmark_serving. Without more it asks ten times at the configured rate.

  --qps X             requests begin by the clock, X per second and target, however late
                      the answers are; a comparison of ten rounds at --qps 1 measures what
                      one at --qps 0.1 does, in a tenth of the time
  --qps inf           as many as --requests says, all at once
  --concurrency N     so many at a time; with --qps the most that may be under way
  --ladder 1,2,4      a step each: so many at once, or with --requests or --duration so
                      many at a time
  --prompt-tokens A,B all of that for each length

Several URLs, or several targets of one group, are compared: they answer the same prompts,
by the clock in rounds one after another, else one target after the other. Each request
has its line (unless more than 16 are under way), each target a block every --every, and
the end says what the differences are, with a confidence interval from the pairs.
Comparisons are of the first with each other target.

Before the first step of each length the targets are asked until the prompt's length is
exact, once at least; those requests are not counted. Ctrl-C prints what was measured so
far. With OTEL_EXPORTER_OTLP_ENDPOINT the requests are exported as those of run are.

Exit code: 0 if the run was finished and some request succeeded, 1 if not, 2 for usage or
configuration.`,
		Example: `  prober bench http://localhost:8000 --requests 100 --concurrency 8 --prompt-tokens 1000
  prober bench http://localhost:8000 --ladder 1,2,4,8,16,32 --prompt-tokens 80,10000 --plot ladder.html
  prober bench left=http://localhost:8801 right=http://localhost:8802 --requests 10`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			plan, err := b.plan(cmd, urls)
			if err != nil {
				return err
			}
			for _, c := range plan.lengths {
				c.Targets = engine.Present(cmd.Context(), c)
			}
			return plan.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	b.flags(cmd)
	return cmd
}

// flags gives cmd the flags of a bench.
func (b *benchmark) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&b.requests, "requests", 0, "requests of each target in a step (default 10, or 10 times --concurrency)")
	flags.DurationVar(&b.duration, "duration", 0, "time within which the requests of a step begin")
	flags.IntVar(&b.concurrency, "concurrency", 0, "requests of a target under way at a time")
	flags.IntSliceVar(&b.ladder, "ladder", nil, "steps of so many requests at once: 1,2,4,8")
	flags.DurationVar(&b.every, "every", 30*time.Second, "time between blocks of a comparison under way; 0 for none")
	flags.StringVar(&b.format, "format", "text", "text, json, csv or markdown")
	flags.StringVar(&b.plot, "plot", "", "file to draw to, .svg or .html: distributions and time-line, or the curves of a ladder")
	addConfigFlags(cmd)
	flags.Lookup("qps").Usage = "requests per second and target, or inf: no clock; PROBER_QPS"
	flags.Lookup("prompt-tokens").Usage = "exact length of a prompt in tokens, or several: 80,10000; PROBER_PROMPT_TOKENS"
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "book" {
			name = "book-file"
		}
		return pflag.NormalizedName(name)
	})
}
