package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/check"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

func newCheck() *cobra.Command {
	var c check.Check
	var g gate
	cmd := &cobra.Command{
		Use:   "check [URL…]",
		Short: "Validate the configuration, reach every target, print the plan",
		Long: `Check validates the configuration, asks every target what it is (models, context
length, dialect, token counting), sends each one short question and one probe as
long as configured, and prints what it learned, the plan and its cost in tokens
a day. It names the prompt length that fits a context that is too short, and the
rate that fits answers that take longer than the time between two probes.
Wrong settings of one target do not keep the others from being checked.

Exit code: 0 if every check passed, 1 if a target failed one, 2 for usage or
configuration, 3 for what --fail-on names.`,
		Example: `  prober check http://localhost:8000
  prober check --targets-file targets.yaml --quick --format json
  prober check http://localhost:8000 --objective 'ttft<5s' --fail-on objective`,
		Annotations: map[string]string{
			mostUsed: "targets-file quick format qps prompt-tokens max-tokens model api-key-file objective fail-on",
		},
		RunE: func(cmd *cobra.Command, urls []string) error {
			if c.Quick && g.failOn != nil {
				return usage.Problems{{
					Place: "--quick",
					Text:  "sends no probe that --fail-on could judge",
					Hint:  "leave one of them out",
				}}
			}
			c.Out = cmd.OutOrStdout()
			if g.format == "json" {
				c.Out = io.Discard
			}
			c.Judge = g.judge
			jobs, err := g.assemble(cmd, urls)
			if err == nil {
				c.Problems = g.rejected // the other targets are checked
				c.Run(cmd.Context(), jobs)
				err = g.verdict(c.Passed)
			} else {
				c.Problems, _ = errors.AsType[usage.Problems](err)
			}
			if g.format == "json" {
				err = errors.Join(err, report.Encode(cmd.OutOrStdout(), "  ", c))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&c.Quick, "quick", false, "send no probe of the configured length")
	cmd.Flags().StringVar(&g.format, "format", "text", "text, or json: one document with problems and findings")
	g.addFlags(cmd, "objective")
	return cmd
}
