package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-prober/prober/alerts"
	"github.com/llm-prober/prober/internal/usage"
)

// The values of --format.
const (
	formatPrometheus   = "prometheus"
	formatAlertmanager = "alertmanager"
)

// grafanaVariable is the default of --grafana-url. To run it is the address for links of the page.
const grafanaVariable = "PROBER_GRAFANA_URL"

// An alertsCommand has the values of the flags of alerts.
type alertsCommand struct {
	format     string
	classic    bool
	native     bool
	dir        string
	labels     []string
	by         []string
	runbookURL string
	grafanaURL string
}

func newAlerts() *cobra.Command {
	var a alertsCommand
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
  prober alerts --by cluster,team         # alerts with the labels of targets
  prober alerts ProberITLRegression       # a runbook`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(alerts.Runbooks(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 1 {
				return printRunbook(cmd.OutOrStdout(), names[0], cmd.Flags().NFlag() == 0)
			}
			return a.print(cmd.OutOrStdout(), cmd.Flags())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&a.format, "format", formatPrometheus,
		"prometheus: a rule file; alertmanager: inhibit rules for its configuration")
	flags.BoolVar(&a.classic, "classic", false,
		"without native histograms: for Prometheus 2.42 to 2.50, VictoriaMetrics, and others that do not know "+
			"histogram_avg()")
	flags.BoolVar(&a.native, "native", false,
		"without classic buckets: half as much work for a Prometheus that scrapes native histograms")
	flags.StringVarP(&a.dir, "output", "o", "",
		"`directory` to write the rules and the runbooks to; created if missing")
	flags.StringArrayVar(&a.labels, "label", nil,
		"label of all alerts, as `name=value`; repeatable")
	flags.StringSliceVar(&a.by, "by", nil,
		"labels that separate targets of one name, such as cluster or team; alerts have them as well")
	flags.StringVar(&a.runbookURL, "runbook-url", "",
		"`URL` of the folder with your copy of the runbooks; /NAME.md is added")
	flags.StringVar(&a.grafanaURL, "grafana-url", "",
		"`URL` of your Grafana; the path of the dashboard is added (default: the variable "+grafanaVariable+")")
	return cmd
}

// print writes the rules to a directory, or to out.
func (a alertsCommand) print(out io.Writer, flags *pflag.FlagSet) error {
	options, err := a.options(flags)
	if err != nil {
		return err
	}
	file := alerts.RulesFile
	text := options.Rules()
	if a.format == formatAlertmanager {
		file = alerts.InhibitFile
		text = options.InhibitRules()
	}
	if !flags.Changed("output") {
		_, err = out.Write(text)
		return err
	}
	err = alerts.Write(a.dir, file, text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "wrote %s and %d runbooks to %s\n", file, len(alerts.Runbooks()), a.dir)
	return err
}

// options returns what the flags say about the rules. If flags are wrong, the error has all their problems.
func (a alertsCommand) options(flags *pflag.FlagSet) (alerts.Options, error) {
	var options alerts.Options
	var problems usage.Problems
	check := func(flag, value string, err error) {
		if err != nil {
			problems.Add(usage.FlagPlace(flag, value), err.Error(), "")
		}
	}
	formats := []string{formatPrometheus, formatAlertmanager}
	if !slices.Contains(formats, a.format) {
		problems = append(problems, usage.Unknown(usage.FlagPlace("format", a.format), a.format, formats))
	}
	if flags.Changed("output") && a.dir == "" {
		problems.Add(`--output=""`, "no directory", "give one, or leave --output out")
	}
	switch {
	case a.classic && a.native:
		problems.Add("--classic --native", "rules without any histogram", "leave one of them out")
	case a.classic:
		options.Histograms = alerts.ClassicOnly
	case a.native:
		options.Histograms = alerts.NativeOnly
	}
	for _, text := range a.labels {
		check("label", text, options.AddLabel(text))
	}
	if flags.Changed("by") && len(a.by) == 0 { // --by="" is no list without a label, but one with a wrong label
		a.by = []string{""}
	}
	for _, name := range a.by {
		check("by", name, options.AddBy(name))
	}
	if flags.Changed("runbook-url") {
		check("runbook-url", a.runbookURL, options.SetRunbookURL(a.runbookURL))
	}
	grafanaURL := os.Getenv(grafanaVariable)
	switch {
	case flags.Changed("grafana-url"):
		check("grafana-url", a.grafanaURL, options.SetGrafanaURL(a.grafanaURL))
	case grafanaURL != "":
		err := options.SetGrafanaURL(grafanaURL)
		if err != nil {
			problems.Add(grafanaVariable, err.Error(), "") // without its value, which may have a password
		}
	}
	for _, flag := range []string{"label", "runbook-url", "grafana-url", "classic", "native"} {
		if a.format == formatAlertmanager && flags.Changed(flag) {
			problems.Add("--"+flag, "inhibit rules have neither labels, links nor histograms", "leave it out")
		}
	}
	if problems != nil {
		return options, problems
	}
	return options, nil
}

// printRunbook writes the runbook of an alert. alone reports whether no flag was given.
func printRunbook(out io.Writer, name string, alone bool) error {
	place := fmt.Sprintf("alerts %q", name)
	page, ok := alerts.Runbook(name)
	switch {
	case !alone:
		return usage.Problems{{Place: place, Text: "the flags of alerts change no runbook", Hint: "give the name alone"}}
	case !ok:
		return usage.Problems{usage.Unknown(place, name, alerts.Runbooks())}
	}
	_, err := out.Write(page)
	return err
}
