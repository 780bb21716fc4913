package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

func newOnce() *cobra.Command {
	var g gate
	cmd := &cobra.Command{
		Use:   "once [URL…]",
		Short: "Probe each target once and show what happened",
		Long: `Once sends one probe to each target and shows where the time went: connection,
wait, first token, gaps, usage and the verdict. Targets are the URLs, or those
of the environment and the targets file. The prompt gets its exact length
first: from the server's tokenizer, or from the usage of a few requests with
short answers.

Exit code: 0 if every outcome is ok, 1 if not, 2 for usage or configuration, 3
for what --fail-on names.`,
		Example: `  prober once http://localhost:8000 --prompt-tokens 1000
  prober once https://api.example.com/v1 --model m --api-key-file key
  prober once http://canary:8000 --objective 'ttft<2s' --fail-on objective`,
		Annotations: map[string]string{
			mostUsed: "prompt prompt-tokens max-tokens model api api-key-file timeout objective fail-on format",
		},
		RunE: func(cmd *cobra.Command, urls []string) error {
			jobs, err := g.assemble(cmd, urls)
			if err != nil {
				return err
			}
			allOK := true
			var unsent error // why some targets were not probed; the others are
			for _, j := range jobs {
				ok, err := g.probeOnce(cmd, j)
				allOK = allOK && ok
				unsent = errors.Join(unsent, err)
				if cmd.Context().Err() != nil { // interrupted
					break
				}
			}
			if unsent != nil {
				return unsent
			}
			return g.verdict(allOK)
		},
	}
	cmd.Flags().StringVar(&g.format, "format", "text", "text, or json: one object a target and line")
	g.addFlags(cmd, "objective")
	return cmd
}

// probeOnce sends one probe to each target of a job and shows what happened. It reports whether all outcomes are ok.
func (g *gate) probeOnce(cmd *cobra.Command, j *engine.Job) (allOK bool, err error) {
	out := cmd.OutOrStdout()
	j.IgnorePauses()
	results, _, err := j.Once(cmd.Context())
	allOK = true
	for _, r := range results {
		allOK = allOK && r.Outcome == probe.OK
		err = errors.Join(err, g.showResult(out, r, j.Targets[j.Place(r.Target)].Places))
		if r.Stack != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", r.Stack)
		}
	}
	if g.format != "json" {
		printLengths(out, j)
	}
	return allOK, err
}

// showResult draws a result, or writes it as JSON, and judges it by the objectives. Its hint names settings as places
// do.
func (g *gate) showResult(out io.Writer, r *probe.Result, places report.Places) error {
	result := report.JSONOf(r, places)
	objectives := g.judge(r.Target, r)
	if g.format != "json" {
		return report.Waterfall(out, &result, format.TableWidth(out))
	}
	return report.Encode(out, "", struct {
		report.ResultJSON
		Objectives []report.Attainment `json:"objectives,omitempty"`
	}{result, objectives})
}

// printLengths prints how long the prompts of each target are, and how that is known.
func printLengths(out io.Writer, j *engine.Job) {
	for i, t := range j.Targets {
		line := j.Length(i).Line()
		if line != "" {
			fmt.Fprintln(out, format.Clean(t.Name+": "+line)) // it may have a server's words
		}
	}
}
