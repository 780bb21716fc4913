package main

import (
	"fmt"
	"os"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config COMMAND",
		Short: "Print the effective configuration, an example, or a schema",
		Args:  refuseUnknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	show := &cobra.Command{
		Use:   "show [URL…]",
		Short: "Print the configuration of run and where each value is from",
		Long: `Show prints the configuration that run would have with the same environment,
files and flags. Values that are not defaults are followed by their source.
Secrets are shown as ***. Nothing is probed.

Exit code: 0, or 2 if the configuration is invalid.`,
		Example: `  prober config show
  prober config show --targets-file targets.yaml
  PROBER_QPS=0.5 prober config show http://localhost:8000`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			text, warnings, err := config.Effective(config.Options{
				Environ:   env.ToMap(os.Environ()),
				Overrides: overrides(cmd),
				URLs:      urls,
			})
			for _, warning := range warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
			}
			fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	addConfigFlags(show, "run")
	text := func(use, short, page string) *cobra.Command {
		return &cobra.Command{
			Use:   use,
			Short: short,
			Args:  cobra.NoArgs,
			Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), page) },
		}
	}
	cmd.AddCommand(show,
		text("example", "Print a targets file with the most used settings", config.Example()),
		text("schema", "Print the JSON Schema of the targets file, for editors", string(config.Schema())))
	return cmd
}
