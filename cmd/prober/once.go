package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// errNoTokenizer says that a server has no route that counts tokens.
var errNoTokenizer = errors.New("server has no tokenizer route")

func newOnce() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "once [URL…]",
		Short: "Probe each target once and show what happened",
		Long: `Once sends one probe to each target and shows where the time went: connection, wait,
first token, gaps, usage and the verdict. Targets are the URLs, or those of the
environment and the targets file.

Exit code: 0 if every outcome is ok, 1 if not, 2 for usage or configuration.`,
		Example: `  prober once http://localhost:8000 --prompt-tokens 1000
  prober once https://api.example.com/v1 --model m --api-key-file key --format json`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			if format != "text" && format != "json" {
				return config.Problems{{Place: fmt.Sprintf("--format=%q", format), Text: "unknown", Hint: "want text or json"}}
			}
			c, err := loadConfig(cmd, urls)
			if err != nil {
				return err
			}
			return once(cmd.Context(), c, cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, or json: one object a target and line")
	addConfigFlags(cmd)
	return cmd
}

// once probes every target of c once. It returns errFailed if an outcome was
// not ok.
func once(ctx context.Context, c *config.Config, w io.Writer, format string) error {
	jobs, err := assemble(c, nil, buildInfo())
	if err != nil {
		return err
	}
	show := shower(w, format)
	allOK := true
	for _, j := range jobs {
		var mu sync.Mutex // members may end together
		var shown error
		answered := 0
		j.group.Record = func(r *probe.Result) {
			mu.Lock()
			defer mu.Unlock()
			answered++
			allOK = allOK && r.Outcome == probe.OK
			shown = errors.Join(shown, show(r))
		}
		j.group.Skipped = func(target string, reason probe.Skip) {
			mu.Lock()
			defer mu.Unlock()
			shown = errors.Join(shown, fmt.Errorf("%s was not probed: %s", target, reason))
		}
		_ = j.fit(ctx) // a server without a tokenizer, or without an answer, shows in the probe
		j.group.Round(ctx, ctx, 0, time.Now())
		if shown != nil {
			return shown
		}
		if answered < len(j.targets) {
			return errors.New("interrupted")
		}
	}
	if !allOK {
		return errFailed
	}
	return nil
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
