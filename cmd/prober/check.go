package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/check"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

func newCheck() *cobra.Command {
	var c check.Check
	var g gate
	var verbose bool
	cmd := &cobra.Command{
		Use:   "check [URL…]",
		Short: "Validate the configuration, reach every target, print the plan",
		Long: `Check validates the configuration, asks every target what it is (models, context
length, dialect, token counting), sends each one short question and one probe as
long as configured, and prints what it learned, the plan and its cost in tokens
a day. It names the prompt length that fits a context that is too short, and the
rate that fits answers that take longer than the time between two probes.
Wrong settings of one target do not keep the others from being checked. More
than one target are a table, problems first, with their details by --verbose.

Exit code: 0 if every check passed, 1 if a target failed one, 2 for usage or
configuration, 3 for what --fail-on names.`,
		Example: `  prober check http://localhost:8000
  prober check --targets-file targets.yaml --quick --format json
  prober check http://localhost:8000 --objective 'ttft<5s' --fail-on objective`,
		Annotations: map[string]string{
			mostUsed: "targets-file quick verbose format qps prompt-tokens max-tokens model api-key-file objective fail-on",
		},
		RunE: func(cmd *cobra.Command, urls []string) error { return g.check(cmd, urls, &c, verbose) },
	}
	cmd.Flags().BoolVar(&c.Quick, "quick", false, "send no probe of the configured length")
	cmd.Flags().StringVar(&g.format, "format", "text", "text, or json: one document with problems and findings")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show all findings about each of several targets")
	g.addFlags(cmd, "objective")
	return cmd
}

// check checks targets, and writes what c found: as JSON, as lines, or as a table if there are several targets. verbose
// asks for lines in any case.
func (g *gate) check(cmd *cobra.Command, urls []string, c *check.Check, verbose bool) error {
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
	jobs, err := g.assemble(cmd, urls)
	if err == nil {
		c.Table = g.format == "text" && !verbose && check.Count(jobs)+len(g.rejected) > 1
		err = g.checkJobs(cmd, jobs, c)
	} else {
		c.Problems, _ = errors.AsType[usage.Problems](err)
	}
	if g.format == "json" {
		err = errors.Join(err, report.Encode(cmd.OutOrStdout(), "  ", c))
	}
	return err
}

// checkJobs checks the targets of jobs. It returns the error that the command ends with.
func (g *gate) checkJobs(cmd *cobra.Command, jobs []*engine.Job, c *check.Check) error {
	c.Judge = g.judge
	c.Problems = g.problems // the other targets are checked
	c.Rejected = g.rejected
	if c.Table && g.failOn == nil { // else the judgements stand on standard error
		c.Progress = cmd.ErrOrStderr()
		g.w = io.Discard // the table has what was missed
	}
	c.Run(cmd.Context(), jobs)
	err := g.verdict(c.Passed)
	if c.Table && g.problems != nil {
		return errMisconfigured // the table has the problems
	}
	return err
}
