package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/dashboards"
	"github.com/llm-prober/prober/internal/usage"
)

func newDashboards() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "dashboards [NAME...]",
		Short: "List, print or write the Grafana dashboards",
		Long: `Dashboards lists the Grafana dashboards that come with the prober. With the name
of one it prints its JSON; with --output it writes those, or all, as files.`,
		Example: `  prober dashboards
  prober dashboards overview > overview.json
  prober dashboards --output /var/lib/grafana/dashboards`,
		RunE: func(cmd *cobra.Command, names []string) error {
			out := cmd.OutOrStdout()
			chosen, unknown := dashboards.Choose(names)
			var problems usage.Problems
			for _, name := range unknown {
				problems = append(problems, usage.Unknown(fmt.Sprintf("dashboards %q", name), name, dashboards.Names()))
			}
			if len(names) > 1 && output == "" && problems == nil {
				problems = usage.Problems{{
					Place: strings.Join(names, " "),
					Text:  "more than one dashboard",
					Hint:  "say with --output where to write them",
				}}
			}
			switch {
			case problems != nil:
				return problems
			case output != "":
				paths, err := dashboards.Write(output, chosen)
				for _, path := range paths {
					fmt.Fprintln(out, path)
				}
				return err
			case len(names) == 1:
				_, err := io.WriteString(out, chosen[0].JSON)
				return err
			}
			_, err := io.WriteString(out, dashboards.List(chosen))
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "",
		"`directory` to write the dashboards into, one file each; created if missing")
	return cmd
}
