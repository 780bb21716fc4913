package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
)

func newOnce() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "once [URL…]",
		Short: "Probe each target once and show what happened",
		Long: `Once sends one probe to each target and shows where the time went: connection, wait,
first token, gaps, usage and the verdict. Targets are the URLs, or those of the
environment and the targets file. A server that tells the length of a prompt in its
answers only is asked again, up to three times, until the length is exact.

Exit code: 0 if every outcome is ok, 1 if not, 2 for usage or configuration.`,
		Example: `  prober once http://localhost:8000 --prompt-tokens 1000
  prober once https://api.example.com/v1 --model m --api-key-file key --format json`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			if format != "text" && format != "json" {
				return config.Problems{{Place: fmt.Sprintf("--format=%q", format), Text: "unknown", Hint: "want text or json"}}
			}
			files := newReading()
			c, err := loadConfig(cmd, urls, files)
			if err != nil {
				return err
			}
			for _, warning := range c.Warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
			}
			return once(cmd.Context(), c, files, cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, or json: one object a target and line")
	addConfigFlags(cmd)
	return cmd
}

// once probes every target of c once. It returns errFailed if an outcome was
// not ok.
func once(ctx context.Context, c *config.Config, files *reading, w io.Writer, format string) error {
	jobs, err := assemble(present(ctx, c), files, nil, buildInfo())
	if err != nil {
		return err
	}
	show := shower(w, format)
	allOK := true
	for _, j := range jobs {
		results, _, err := j.once(ctx)
		for _, r := range results {
			allOK = allOK && r.Outcome == probe.OK
			err = errors.Join(err, show(r))
		}
		if err != nil {
			return err
		}
	}
	if !allOK {
		return errFailed
	}
	return nil
}

// calibrations is how often a prompt is asked in vain until its length is exact.
const calibrations = 3

// once asks a round of j. Where only the usage of an answer tells how long a
// prompt is, the first ones make it exact, or show that it cannot be, and the last
// counts. Next is the first round that was not asked.
func (j *job) once(ctx context.Context) (results []*probe.Result, next uint64, err error) {
	_ = j.fit(ctx) // a server without a tokenizer, or without an answer, shows in the probe
	var before []*probe.Result
	for round := uint64(0); ; round++ {
		held := j.writer.Prompt(round).Held
		results, err := j.round(ctx, round)
		if err != nil && before != nil { // calibrating once more was too much for a budget
			return before, round + 1, nil
		}
		before = results
		if err != nil || held || round == calibrations || !j.calibrating(results) {
			return results, round + 1, err
		}
	}
}

// round asks a round of j, and returns the results of its members in the order
// of their ends.
func (j *job) round(ctx context.Context, round uint64) (results []*probe.Result, err error) {
	var mu sync.Mutex // members may end together
	j.group.Record = func(r *probe.Result) {
		mu.Lock()
		defer mu.Unlock()
		results = append(results, r)
	}
	j.group.Skipped = func(target string, reason probe.Skip) {
		mu.Lock()
		defer mu.Unlock()
		err = errors.Join(err, fmt.Errorf("%s was not probed: %s", target, reason))
	}
	j.group.Round(ctx, ctx, round, time.Now())
	if err == nil && len(results) < len(j.targets) {
		err = errors.New("interrupted")
	}
	return results, err
}

// calibrating reports whether the results, all of them ok, taught how to make the
// next prompt exact. A count of less than half of what was asked teaches nothing:
// such a server does not count, or cuts.
func (j *job) calibrating(results []*probe.Result) bool {
	t := j.targets[0]
	if t.Prompt == string(prompt.Book) || t.Prompt == string(prompt.Dataset) {
		return false
	}
	for _, r := range results {
		if r.Outcome != probe.OK {
			return false
		}
	}
	first := results[slices.IndexFunc(results, func(r *probe.Result) bool { return r.Target == t.Name })]
	counted := first.Usage.Prompt
	return counted.Known && counted.N != t.PromptTokens && counted.N >= t.PromptTokens/2
}

// shower returns what shows one result in a format.
func shower(w io.Writer, format string) func(*probe.Result) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		return func(r *probe.Result) error { return encoder.Encode(r.Account()) }
	}
	width, color := terminal(w)
	return func(r *probe.Result) error { return report.Waterfall(w, r, width, color) }
}
