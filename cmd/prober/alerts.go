package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/alerts"
	"github.com/llm-prober/prober/internal/usage"
)

// The values of --format.
const formatPrometheus, formatAlertmanager = "prometheus", "alertmanager"

func newAlerts() *cobra.Command {
	var format, dir string
	var classic bool
	cmd := &cobra.Command{
		Use:   "alerts [NAME]",
		Short: "Print rules for Prometheus, or the runbook of an alert",
		Long: `Alerts prints the recording and alerting rules, a rule file of Prometheus. They
contain no target and no threshold: objectives come from the metrics. With the
name of an alert it prints its runbook: what it means and what to do.

Exit code: 0, 1 if a file cannot be written, 2 for usage.`,
		Example: `  prober alerts > prober.yaml             # named under rule_files: there
  prober alerts --format alertmanager     # inhibit rules
  prober alerts --classic > prober.yaml   # for Prometheus 2.42 to 2.50
  prober alerts ProberITLRegression       # a runbook`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(alerts.Runbooks(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, names []string) error {
			toFiles := cmd.Flags().Changed("output")
			if len(names) == 1 {
				alone := !toFiles && !classic && !cmd.Flags().Changed("format")
				return printRunbook(cmd.OutOrStdout(), names[0], alone)
			}
			file, rules, err := chosenRules(format, classic)
			if err != nil {
				return err
			}
			switch {
			case toFiles && dir == "":
				return usage.Problems{{Place: `--output=""`, Text: "no directory", Hint: "give one, or leave --output out"}}
			case toFiles:
				if err := alerts.Write(dir, file, rules); err != nil {
					return err
				}
				rules = fmt.Appendf(nil, "wrote %s and %d runbooks to %s\n", file, len(alerts.Runbooks()), dir)
			}
			_, err = cmd.OutOrStdout().Write(rules)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", formatPrometheus,
		"prometheus: a rule file; alertmanager: inhibit rules for its configuration")
	cmd.Flags().BoolVar(&classic, "classic", false,
		"without native histograms: for Prometheus 2.42 to 2.50, VictoriaMetrics, and others that do not know "+
			"histogram_avg()")
	cmd.Flags().StringVarP(&dir, "output", "o", "",
		"`directory` to write the rules and the runbooks to; created if missing")
	return cmd
}

// printRunbook writes the runbook of an alert. alone reports whether no flag asks for something else.
func printRunbook(out io.Writer, name string, alone bool) error {
	place := fmt.Sprintf("alerts %q", name)
	page, ok := alerts.Runbook(name)
	switch {
	case !alone:
		return usage.Problems{{
			Place: place,
			Text:  "a runbook has neither --output nor --format nor --classic",
			Hint:  "give the name alone",
		}}
	case !ok:
		return usage.Problems{usage.Unknown(place, name, alerts.Runbooks())}
	}
	_, err := out.Write(page)
	return err
}

// chosenRules returns the rules that the flags ask for, and the name of their file.
func chosenRules(format string, classic bool) (file string, rules []byte, err error) {
	switch {
	case format == formatAlertmanager:
		return alerts.InhibitFile, alerts.InhibitRules(), nil
	case format != formatPrometheus:
		formats := []string{formatPrometheus, formatAlertmanager}
		return "", nil, usage.Problems{usage.Unknown(usage.FlagPlace("format", format), format, formats)}
	case classic:
		return alerts.RulesFile, alerts.ClassicRules(), nil
	}
	return alerts.RulesFile, alerts.Rules(), nil
}
