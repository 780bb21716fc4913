package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/daemon"
	"github.com/llm-prober/prober/internal/engine"
)

// addConfigFlags gives a command a flag for every setting that it has a use for.
func addConfigFlags(cmd *cobra.Command) {
	for _, key := range config.Reference() {
		if key.Flag == "" || slices.Contains(key.Not, cmd.Name()) {
			continue
		}
		help := key.Help
		if key.Default != "" {
			help += " (default " + key.Default + ")"
		}
		cmd.Flags().String(key.Flag, "", help+"; "+key.Variable)
		if key.Switch {
			cmd.Flags().Lookup(key.Flag).NoOptDefVal = "on"
		}
	}
}

// flagError says what is wrong with a flag in the words of all problems, and what an unknown
// one probably stands for.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		word, _, _ := strings.Cut(cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()), "=")
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := config.Nearest(word, known); near != "" {
			return fmt.Errorf("%w (did you mean --%s?)", err, near)
		}
		return err
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		problem := config.Problem{Place: config.FlagPlace(f.Name, invalid.GetValue()), Text: "cannot be read as " + f.Value.Type()}
		switch f.Value.Type() {
		case "int", "uint64":
			problem.Text, problem.Hint = "not a whole number", "want a number, for example 10"
		case "bool":
			problem.Text, problem.Hint = "neither true nor false", "give it alone for true"
		case "intSlice":
			problem.Text, problem.Hint = "not a list of whole numbers", "want numbers with commas between them, for example 1,2,4,8"
		case "duration":
			problem.Text, problem.Hint = "not a duration", "want a duration with its unit, for example 30s"
		}
		return config.Problems{problem}
	}
	return err
}

// overrides returns the flags that were given, spelled as the names of variables.
func overrides(cmd *cobra.Command) map[string]string {
	given := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		given[strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))] = f.Value.String()
	})
	return given
}

// loadConfig reads the configuration of a command: flags over environment over
// targets file. URLs replace the configured targets. Files are read through assets.
func loadConfig(flags map[string]string, urls []string, assets *engine.Assets) (*config.Config, error) {
	return daemon.Load(config.Options{Environ: env.ToMap(os.Environ()), Overrides: flags, URLs: urls}, assets)
}

// assemble reads the configuration of a command that ends, and makes its jobs. The warnings are the configuration's.
func assemble(cmd *cobra.Command, urls []string) (jobs []*engine.Job, warnings []string, err error) {
	assets := engine.NewAssets(config.ReadFile)
	c, err := loadConfig(overrides(cmd), urls, assets)
	if err != nil {
		return nil, nil, err
	}
	jobs, err = engine.Assemble(engine.Present(cmd.Context(), c), assets, nil, buildInfo().Version)
	return jobs, c.Warnings, err
}
