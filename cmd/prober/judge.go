package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/report"
)

// judgeFlags are the flags by which once, check and bench judge what they measure.
type judgeFlags struct {
	objectives []string
	failOn     []string
}

// add gives a command these flags. failOn says what the command can fail on.
func (f *judgeFlags) add(cmd *cobra.Command, failOn string) {
	cmd.Flags().StringArrayVar(&f.objectives, "objective", nil,
		"`objective`, ttft=2s@95%, 'ttft<2s@95%' or availability@99%; may be repeated (default: the configured ones)")
	cmd.Flags().StringSliceVar(&f.failOn, "fail-on", nil, failOn+": exit code 3, with a line for each on standard error")
}

// gate returns what makes a command with this configuration fail, or what is wrong with --fail-on.
func (f *judgeFlags) gate(c *config.Config, judged report.Judged) (report.Gate, error) {
	hasObjectives := func(t config.Target) bool { return t.GivenObjectives != nil }
	judged.Objectives = slices.ContainsFunc(c.Targets, hasObjectives)
	gate, problems := report.ParseGate(f.failOn, judged)
	if problems != nil {
		return gate, problems
	}
	return gate, nil
}

// loadJobs reads the configuration of once or check with the flags of the command, writes the warnings to standard
// error, and makes the jobs.
func (f *judgeFlags) loadJobs(cmd *cobra.Command, o config.Options) (
	jobs []*engine.Job, c *config.Config, gate report.Gate, err error,
) {
	read := files.New()
	o.Overrides = overrides(cmd)
	o.Objectives = f.objectives
	c, err = loadListed(cmd, o, read)
	if err != nil {
		return nil, nil, gate, err
	}
	gate, err = f.gate(c, report.Judged{})
	if err != nil {
		return nil, nil, gate, err
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
	}
	jobs, err = engine.Assemble(engine.LookUpTargets(cmd.Context(), c), read, length.NewBook(), nil, buildInfo().Version)
	return jobs, c, gate, err
}
