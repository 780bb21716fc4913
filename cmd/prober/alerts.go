package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/alerts"
	"github.com/llm-prober/prober/internal/config"
)

// Formats of the rules, and the file that --output writes each to.
const (
	formatPrometheus = "prometheus"
	formatOperator   = "prometheusrule"
	operatorFile     = "prometheusrule.yaml"
)

func newAlerts() *cobra.Command {
	var format, dir string
	cmd := &cobra.Command{
		Use:   "alerts [NAME]",
		Short: "Print the recording and alerting rules for Prometheus, or the runbook of an alert",
		Long: `Alerts prints the recording and alerting rules, a rule file of Prometheus. They hold no
target and no threshold of yours: objectives come from the metrics. With the name of an
alert it prints its runbook: what it means, what to look at, what to do.

Exit code: 0, 1 if a file cannot be written, 2 for usage.`,
		Example: `  prober alerts > prober.yaml             # name it under rule_files: in prometheus.yml
  prober alerts --format prometheusrule   # for the Prometheus operator
  prober alerts --output prober-alerts    # rules and runbooks as files
  prober alerts ProberITLRegression       # a runbook`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(alerts.Runbooks(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, names []string) error {
			switch {
			case len(names) == 1 && (cmd.Flags().Changed("output") || cmd.Flags().Changed("format")):
				return config.Problems{{Place: "alerts " + names[0], Text: "a runbook has neither --output nor --format", Hint: "give the name alone"}}
			case len(names) == 1:
				return printRunbook(cmd.OutOrStdout(), names[0])
			}
			rules, file, err := rulesAs(format)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("output") {
				return writeAlerts(cmd.OutOrStdout(), dir, file, rules)
			}
			_, err = cmd.OutOrStdout().Write(rules)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", formatPrometheus, "prometheus: a rule file; prometheusrule: a resource of the Prometheus operator, without comments")
	cmd.Flags().StringVarP(&dir, "output", "o", "", "directory to write the rules and the runbooks to; it is made if it is not there")
	return cmd
}

// printRunbook prints the runbook of an alert.
func printRunbook(w io.Writer, name string) error {
	page, ok := alerts.Runbook(name)
	if !ok {
		return config.Problems{{
			Place: fmt.Sprintf("alerts %q", name), Text: "no such alert",
			Hint: "want one of " + strings.Join(alerts.Runbooks(), ", "),
		}}
	}
	_, err := w.Write(page)
	return err
}

// rulesAs is the rules in a format, and the name of the file for them.
func rulesAs(format string) (rules []byte, file string, err error) {
	switch format {
	case formatPrometheus:
		return alerts.Rules(), alerts.RulesFile, nil
	case formatOperator:
		rules, err := alerts.PrometheusRule()
		return rules, operatorFile, err
	}
	return nil, "", config.Problems{{
		Place: fmt.Sprintf("--format=%q", format), Text: "unknown",
		Hint: "want " + formatPrometheus + " or " + formatOperator,
	}}
}

// writeAlerts writes the rules and all runbooks below dir, over what is there,
// and says so.
func writeAlerts(w io.Writer, dir, file string, rules []byte) error {
	if dir == "" {
		return config.Problems{{Place: `--output=""`, Text: "no directory", Hint: "give one, or leave --output out"}}
	}
	if err := os.MkdirAll(filepath.Join(dir, alerts.RunbooksDir), 0o755); err != nil { //nolint:gosec // for a Prometheus that is another user
		return fmt.Errorf("write alerts: %w", err)
	}
	written := map[string][]byte{file: rules}
	for _, name := range alerts.Runbooks() {
		written[alerts.RunbookFile(name)], _ = alerts.Runbook(name)
	}
	for name, data := range written {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // for a Prometheus that is another user
			return fmt.Errorf("write alerts: %w", err)
		}
	}
	_, err := fmt.Fprintf(w, "wrote %s and %d runbooks to %s\n", file, len(written)-1, dir)
	return err
}
