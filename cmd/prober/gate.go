package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// A gate judges what a command measures, and makes it fail.
type gate struct {
	promises []string // of the flag --objective
	failOn   []string // of the flag --fail-on
	format   string   // of the flag --format: text or json

	objectives map[string][]probe.Objective // by target: those that somebody gave
	rejected   []config.Rejected            // the targets that cannot be probed; only check goes on with the others
	problems   usage.Problems               // of these
	fails      report.Gate                  // what --fail-on names
	missed     bool                         // an objective was missed
	w          io.Writer                    // for the judgements
}

// addFlags gives a command the flags of g, and all that configure it.
func (g *gate) addFlags(cmd *cobra.Command, failOn string) {
	cmd.Flags().StringArrayVar(&g.promises, "objective", nil,
		"`objective`, ttft=2s@95%, 'ttft<2s@95%' or availability@99%; may be repeated (default: the configured ones)")
	cmd.Flags().StringSliceVar(&g.failOn, "fail-on", nil, failOn+": exit code 3, with a line for each on standard error")
	addConfigFlags(cmd, cmd.Name())
}

// options returns the options for the configuration of a command. once and bench are finite; check judges a
// configuration as run does.
func (g *gate) options(cmd *cobra.Command, settings map[string]string, urls []string) config.Options {
	return config.Options{Overrides: settings, URLs: urls, Objectives: g.promises, Finite: cmd.Name() != "check"}
}

// assemble reads the configuration of once or check, writes its warnings to standard error, and makes its jobs.
func (g *gate) assemble(cmd *cobra.Command, urls []string) ([]*engine.Job, error) {
	if g.format != "text" && g.format != "json" {
		return nil, usage.Problems{{Place: usage.FlagPlace("format", g.format), Text: "unknown", Hint: "want text or json"}}
	}
	f := files.New()
	c, err := loadConfig(g.options(cmd, overrides(cmd), urls), f)
	if err != nil {
		return nil, err
	}
	fails, problems := parseGate(g.failOn, haveObjectives(c.Targets), nil)
	if problems != nil {
		return nil, problems
	}
	g.fails = fails
	g.rejected = c.Rejected
	g.problems = c.Problems()
	g.w = cmd.ErrOrStderr()
	for _, warning := range c.Warnings {
		fmt.Fprintf(g.w, "warning: %s\n", warning)
	}
	targets := engine.Present(cmd.Context(), c)
	g.objectives = map[string][]probe.Objective{}
	for _, t := range targets {
		g.objectives[t.Name] = t.GivenObjectives
	}
	return engine.Assemble(targets, f, nil, buildInfo().Version)
}

// haveObjectives reports whether somebody gave objectives for any of the targets.
func haveObjectives(targets []config.Target) bool {
	return slices.ContainsFunc(targets, func(t config.Target) bool { return t.GivenObjectives != nil })
}

// loadCompared reads the configuration of bench, which may compare targets, and checks --fail-on with it.
func (g *gate) loadCompared(
	cmd *cobra.Command, settings map[string]string, urls []string, f *files.Files,
) (*config.Config, error) {
	c, err := loadConfig(g.options(cmd, settings, urls), f)
	if err != nil {
		return nil, err
	}
	fails, problems := parseGate(g.failOn, haveObjectives(c.Targets), c.Targets)
	if problems != nil {
		return nil, problems
	}
	g.fails = fails
	return c, nil
}

// regression is the word of --fail-on for a comparison, with the least slowdown that counts.
var regression = regexp.MustCompile(`^regression(>(\d+(\.\d+)?)%)?$`)

// parseGate reads the flag --fail-on. Targets are those that the command compares; nil if it compares none.
func parseGate(
	failOn []string, hasObjectives bool, targets []config.Target,
) (g report.Gate, problems usage.Problems) {
	wrong := func(word, text, hint string) { problems.Add(usage.FlagPlace("fail-on", word), text, hint) }
	words := "want objective"
	if targets != nil {
		words += ", regression or 'regression>5%'"
	}
	isAddresses := func(t config.Target) bool { return t.EachAddress }
	isPair := len(targets) == 2 && targets[0].Group == targets[1].Group && !slices.ContainsFunc(targets, isAddresses)
	for _, word := range failOn {
		word = strings.ReplaceAll(word, " ", "")
		slower := regression.FindStringSubmatch(word)
		switch {
		case word != "objective" && slower == nil:
			wrong(word, "unknown", words)
		case slower == nil && !hasObjectives:
			wrong(word, "there is no objective", "add one, for example --objective ttft=2s@95%")
		case slower == nil:
			g.Objective = true
		case !isPair:
			wrong(word, "needs two targets of one group to compare", "want prober bench before=URL after=URL")
		default:
			g.Regression = true
			g.MinSlowdown, _ = strconv.ParseFloat(slower[2], 64) // 0 without one
		}
	}
	return g, problems
}

// judge prints and returns how far the results of a target, if there are any, met the objectives.
func (g *gate) judge(target string, results ...*probe.Result) []report.Attainment {
	objectives := g.objectives[target]
	var samples []report.Sample
	for _, r := range results {
		samples = append(samples, report.SampleOf(r, nil, objectives...))
	}
	s := report.Summarize(samples, objectives...)
	s.Target = target
	for _, a := range s.Objectives {
		fmt.Fprintln(g.w, s.Attained(a))
		g.missed = g.missed || a.Missed()
	}
	return s.Objectives
}

// verdict returns the error that a command ends with. passed reports whether its probes and checks did.
func (g *gate) verdict(passed bool) error {
	switch {
	case g.problems != nil:
		return g.problems
	case !passed:
		return errFailed
	case g.missed && g.fails.Objective:
		return report.ErrMissed
	}
	return nil
}
