package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/check"
	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// A checkCommand has the values of the flags of check.
type checkCommand struct {
	judge   judgeFlags
	format  string
	quick   bool
	verbose bool
}

func newCheck() *cobra.Command {
	var c checkCommand
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
		RunE: c.run,
	}
	cmd.Flags().BoolVar(&c.quick, "quick", false, "send no probe of the configured length")
	cmd.Flags().StringVar(&c.format, "format", "text", "text, or json: one document with problems and findings")
	cmd.Flags().BoolVarP(&c.verbose, "verbose", "v", false, "show all findings about each of several targets")
	c.judge.add(cmd, "objective")
	addConfigFlags(cmd, cmd.Name())
	return cmd
}

// run checks targets, and writes what is found: as JSON, as lines, or as a table if there are several targets.
func (c *checkCommand) run(cmd *cobra.Command, urls []string) error {
	if c.quick && c.judge.failOn != nil {
		return usage.Problems{{
			Place: "--quick", Text: "sends no probe that --fail-on could judge", Hint: "leave one of them out",
		}}
	}
	problems := checkFormat(c.format, "text", "json")
	if problems != nil {
		return problems
	}
	found, err := c.check(cmd, urls)
	if c.format == "json" { // also if the configuration is wrong
		err = errors.Join(err, report.Encode(cmd.OutOrStdout(), "  ", found))
	}
	return err
}

// check checks targets, and writes what is found unless it is to be JSON. It returns the error that the command ends
// with.
func (c *checkCommand) check(cmd *cobra.Command, urls []string) (*check.Report, error) {
	out := cmd.OutOrStdout()
	errs := cmd.ErrOrStderr()
	// It is not finite: check judges a configuration as run would.
	jobs, loaded, gate, err := c.judge.loadJobs(cmd, config.Options{URLs: urls})
	if err != nil {
		problems, _ := errors.AsType[usage.Problems](err)
		return &check.Report{Problems: problems}, err
	}
	options := check.Options{Quick: c.quick, Problems: loaded.Problems(), Rejected: loaded.Rejected}
	several := check.Count(jobs)+len(loaded.Rejected) > 1
	asTable := c.format == "text" && several && !c.verbose
	switch {
	case asTable:
		options.Progress = errs
	case c.format == "text":
		options.Lines = out
	}
	found := check.Run(cmd.Context(), jobs, options)
	if asTable {
		found.WriteTable(out)
	}
	if !asTable || c.judge.failOn != nil { // without --fail-on, the table has what was missed
		for _, line := range found.Judgements() {
			fmt.Fprintln(errs, line)
		}
	}
	switch {
	case found.Problems != nil && asTable: // the table has them
		return found, errMisconfigured
	case found.Problems != nil:
		return found, found.Problems
	case !found.Passed:
		return found, errFailed
	}
	return found, gate.Judge(found.Attainments())
}
