package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/bench"
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

// add gives a command these flags, and all that configure it. failOn says what the command can fail on.
func (f *judgeFlags) add(cmd *cobra.Command, failOn string) {
	cmd.Flags().StringArrayVar(&f.objectives, "objective", nil,
		"`objective`, ttft=2s@95%, 'ttft<2s@95%' or availability@99%; may be repeated (default: the configured ones)")
	cmd.Flags().StringSliceVar(&f.failOn, "fail-on", nil, failOn+": exit code 3, with a line for each on standard error")
	addConfigFlags(cmd, cmd.Name())
}

// load reads the configuration of a command, and what makes the command fail. once and bench are finite; check judges a
// configuration as run does.
func (f *judgeFlags) load(
	cmd *cobra.Command, settings map[string]string, urls []string, read *files.Files,
) (*config.Config, report.Gate, error) {
	c, err := loadConfig(config.Options{
		Overrides: settings, URLs: urls, Objectives: f.objectives, Finite: cmd.Name() != "check",
	}, read)
	if err != nil {
		return nil, report.Gate{}, err
	}
	hasObjectives := func(t config.Target) bool { return t.GivenObjectives != nil }
	gate, problems := report.ParseGate(f.failOn, report.Judged{
		Objectives: slices.ContainsFunc(c.Targets, hasObjectives),
		Compared:   cmd.Name() == "bench",
		Pair:       cmd.Name() == "bench" && bench.IsPair(c.Targets),
	})
	if problems != nil {
		return nil, gate, problems
	}
	return c, gate, nil
}

// loadJobs does what load does for once and check, writes the warnings to standard error, and makes the jobs.
func (f *judgeFlags) loadJobs(cmd *cobra.Command, urls []string) (
	jobs []*engine.Job, c *config.Config, gate report.Gate, err error,
) {
	read := files.New()
	c, gate, err = f.load(cmd, overrides(cmd), urls, read)
	if err != nil {
		return nil, nil, gate, err
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
	}
	jobs, err = engine.Assemble(engine.Present(cmd.Context(), c), read, length.NewBook(), nil, buildInfo().Version)
	return jobs, c, gate, err
}
