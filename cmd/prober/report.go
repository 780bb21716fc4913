package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/promquery"
	"github.com/llm-prober/prober/internal/report"
)

func newReport() *cobra.Command {
	var r promquery.Request
	var layout string
	cmd := &cobra.Command{
		Use:   "report --prometheus URL | report A.json B.json",
		Short: "Tables from Prometheus, or a comparison of two JSON files",
		Long: `Report reads the metrics that probers exported from a Prometheus. It prints a
table with a line for each target. For one or two targets it prints the block of
"prober bench" instead, what is left of the error budget of each objective, and
the hours with the most bad requests. With --vs it compares a target with
another one, or with itself in another time range.

Two files that bench wrote with --format json are compared: the steps that both
have, request by request in their order, and in what their settings differ.

A time is RFC 3339, a day (from midnight UTC), "now", or how long ago: 24h, 7d.

Exit code: 0 if there was data, 1 if not, 2 for usage.`,
		Example: `  prober report --prometheus http://localhost:9090 --from 7d
  prober report --prometheus http://localhost:9090 --target vllm-a --vs 7d
  prober report before.json after.json`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) > 0 {
				return reportFiles(cmd, files, layout)
			}
			query, problems := r.Parse(time.Now())
			problems = append(problems, checkFormat(layout, "text", "json", "markdown")...)
			if problems != nil {
				return problems
			}
			document, err := query.Run(cmd.Context())
			if err != nil {
				return err
			}
			return printDocument(cmd, document, layout)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Prometheus, "prometheus", "", "base `URL` of the Prometheus, or of another server with its API")
	flags.StringVar(&r.TokenFile, "prometheus-token-file", "", "`file` with a bearer token for it")
	flags.StringArrayVar(&r.Match, "match", nil,
		"`label=value` that series must have, for example job=prober, prompt=cold or vantage=eu-1; may be repeated")
	flags.StringVar(&r.From, "from", "24h", "start of the `time` range")
	flags.StringVar(&r.To, "to", "now", "end of the `time` range")
	flags.StringArrayVar(&r.Targets, "target", nil, "`target` to report on; may be repeated (default: all)")
	flags.StringVar(&r.Versus, "vs", "",
		"compare the target with another target (its name), with itself that much earlier (24h, 7d), or in another "+
			"range (FROM/TO)")
	flags.StringVar(&r.BudgetWindow, "budget-window", "30d",
		"window of error budgets, which ends where the time range does")
	flags.StringVar(&layout, "format", "text", "text, json or markdown")
	return cmd
}

func reportFiles(cmd *cobra.Command, files []string, layout string) error {
	problems := checkFormat(layout, "text", "json", "markdown")
	if len(files) != 2 {
		problems.Add(strings.Join(files, " "), "not two files", "want two JSON files to compare, or --prometheus")
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "format" {
			problems.Add("--"+f.Name, "not with files", "leave it out")
		}
	})
	if problems != nil {
		return problems
	}
	d, err := report.CompareFiles(files[0], files[1])
	if err != nil {
		return err
	}
	return printDocument(cmd, d, layout)
}

func printDocument(cmd *cobra.Command, d report.Document, layout string) error {
	out := cmd.OutOrStdout()
	d.Version = buildInfo().Version
	return d.Write(out, layout, format.TableWidth(out))
}
