package main

import (
	"fmt"
	"os"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/format"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:        "config COMMAND",
		Short:      "Check or print the configuration, an example, or a schema",
		SuggestFor: []string{"validate", "lint"},
		Args:       refuseUnknownCommand,
		RunE:       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
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
	cmd.AddCommand(newConfigCheck(), show,
		text("example", "Print a targets file with the most used settings", config.Example()),
		text("schema", "Print the JSON Schema of the targets file, for editors", string(config.Schema())))
	return cmd
}

func newConfigCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:        "check [URL…]",
		Short:      "Check the configuration offline, for CI",
		SuggestFor: []string{"validate", "lint"},
		Long: `Check says what is wrong with the configuration that run would have with the
same environment, files and flags. It opens no connection. To ask the servers
as well, use prober check.

The files that the configuration names (keys, certificates, data sets) are read
and parsed. One that does not exist is a warning: where the check runs, keys
are often not there. The targets file has to be there.

Exit code: 0, or 2 with all problems if any target or setting is wrong.`,
		Example: `  prober config check --targets-file targets.yaml
  prober config check http://localhost:8000 --qps 0.5`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			c, err := loadConfig(config.Options{Overrides: overrides(cmd), URLs: urls, Elsewhere: true}, files.New())
			if err != nil {
				return err
			}
			for _, warning := range c.Warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
			}
			problems := c.Problems()
			if problems != nil {
				return problems
			}
			about := format.Count(len(c.Targets), "target")
			if len(c.HTTPSD) > 0 {
				about += ", and " + format.Count(len(c.HTTPSD), "source") + " of others (http_sd)"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the configuration is valid: %s\n", about)
			return nil
		},
	}
	addConfigFlags(cmd, "run")
	return cmd
}
