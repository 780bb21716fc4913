package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// An onceCommand has the values of the flags of once.
type onceCommand struct {
	judge  judgeFlags
	format string
}

func newOnce() *cobra.Command {
	var o onceCommand
	cmd := &cobra.Command{
		Use:   "once [URL…]",
		Short: "Probe each target once and show what happened",
		Long: `Once sends one probe to each target and shows where the time went: connection,
wait, first token, gaps, usage and the verdict. A target with several prompts
gets one of each. Targets are the URLs, or those of the environment and the
targets file. The prompt gets its exact length first: from the server's
tokenizer, or from the usage of a few requests with short answers.

Exit code: 0 if every outcome is ok, 1 if not, 2 for usage or configuration, 3
for what --fail-on names.`,
		Example: `  prober once http://localhost:8000 --prompt-tokens 1000
  prober once https://api.example.com/v1 --model m --api-key-file key
  prober once http://canary:8000 --objective 'ttft<2s' --fail-on objective`,
		RunE: o.run,
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "text, or json: one object a target and line")
	o.judge.add(cmd, "objective")
	addConfigFlags(cmd, cmd.Name())
	return cmd
}

// run probes each target once. A target that cannot be probed does not keep the others from being probed.
func (o *onceCommand) run(cmd *cobra.Command, urls []string) error {
	problems := checkFormat(o.format, "text", "json")
	if problems != nil {
		return problems
	}
	jobs, _, gate, err := o.judge.loadJobs(cmd, config.Options{URLs: urls, Finite: true})
	if err != nil {
		return err
	}
	allOK := true
	var attained []report.Attainment
	var unsent error
	for _, j := range jobs {
		j.IgnorePauses()
		results, _, err := j.Once(cmd.Context())
		unsent = errors.Join(unsent, err)
		for _, r := range results {
			objectives, err := o.show(cmd, j, r)
			if err != nil {
				return err
			}
			attained = append(attained, objectives...)
			allOK = allOK && r.Outcome == probe.OK
		}
		if o.format == "text" {
			printLengths(cmd.OutOrStdout(), j)
		}
		if cmd.Context().Err() != nil { // interrupted
			break
		}
	}
	switch {
	case unsent != nil:
		return unsent
	case !allOK:
		return errFailed
	}
	return gate.Judge(attained)
}

// show draws a result, or writes it as JSON, and says how far it met the objectives of its target.
func (o *onceCommand) show(cmd *cobra.Command, j *engine.Job, r *probe.Result) ([]report.Attainment, error) {
	out := cmd.OutOrStdout()
	errs := cmd.ErrOrStderr()
	configured := j.Targets[j.Index(r.Target)]
	prompt := j.PromptIndex(r.Prompt)
	target := configured.OfPrompt(prompt)
	judged := report.SummarizeResults(configured.Title(prompt), target.Places, target.GivenObjectives, r)
	for _, a := range judged.Objectives {
		fmt.Fprintln(errs, judged.Attained(a))
	}
	if r.Stack != nil {
		fmt.Fprintf(errs, "%s\n", r.Stack)
	}
	result := report.JSONOf(r, target.Places)
	if o.format == "text" {
		return judged.Objectives, report.Waterfall(out, &result, format.TableWidth(out))
	}
	return judged.Objectives, report.Encode(out, "", struct {
		report.ResultJSON
		Objectives []report.Attainment `json:"objectives,omitempty"`
	}{result, judged.Objectives})
}

// printLengths prints how long the prompts of each target are, and how that is known.
func printLengths(out io.Writer, j *engine.Job) {
	for i, t := range j.Targets {
		for p, q := range j.Length.Prompts {
			line := report.LengthLine(q.Snapshot(i))
			if line != "" {
				fmt.Fprintln(out, format.Clean(t.Title(p)+": "+line)) // it may have a server's words
			}
		}
	}
}
