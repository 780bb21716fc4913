package main

import (
	"fmt"
	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/alerts"
	"github.com/llm-prober/prober/internal/usage"
)

// What --format can be.
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
			out, toFiles := cmd.OutOrStdout(), cmd.Flags().Changed("output")
			if len(names) == 1 {
				page, ok := alerts.Runbook(names[0])
				switch {
				case toFiles || classic || cmd.Flags().Changed("format"):
					return usage.Problems{{
						Place: "alerts " + names[0],
						Text:  "a runbook has neither --output nor --format nor --classic",
						Hint:  "give the name alone",
					}}
				case !ok:
					return usage.Problems{usage.Unknown(fmt.Sprintf("alerts %q", names[0]), names[0], alerts.Runbooks())}
				}
				_, err := out.Write(page)
				return err
			}
			rules, file := alerts.Rules(), alerts.RulesFile
			switch {
			case format == formatAlertmanager:
				rules, file = alerts.InhibitRules(), alerts.InhibitFile
			case format != formatPrometheus:
				formats := []string{formatPrometheus, formatAlertmanager}
				return usage.Problems{usage.Unknown(usage.FlagPlace("format", format), format, formats)}
			case classic:
				rules = alerts.ClassicRules()
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
			_, err := out.Write(rules)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", formatPrometheus,
		"prometheus: a rule file; alertmanager: inhibit rules for its configuration")
	cmd.Flags().BoolVar(&classic, "classic", false,
		"without native histograms: for Prometheus 2.42 to 2.50, VictoriaMetrics, and others that do not know histogram_avg()")
	cmd.Flags().StringVarP(&dir, "output", "o", "",
		"`directory` to write the rules and the runbooks to; created if missing")
	return cmd
}
