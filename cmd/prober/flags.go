package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/wire"
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
		if near, ok := config.Nearest(word, known); ok {
			return fmt.Errorf("%w (did you mean --%s?)", err, near)
		}
		return err
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		problem := config.Problem{Place: place(f.Name, invalid.GetValue()), Text: "cannot be read as " + f.Value.Type()}
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

// overrides returns the flags that were given, by the names of their variables.
func overrides(cmd *cobra.Command) map[string]string {
	known := map[string]bool{}
	for _, key := range config.Reference() {
		known[key.Flag] = true
	}
	given := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if known[f.Name] {
			given[strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))] = f.Value.String()
		}
	})
	return given
}

// loadConfig reads the configuration of a verb: flags over environment over
// targets file. URLs replace the configured targets. What is read is kept in files.
func loadConfig(cmd *cobra.Command, urls []string, files *reading) (*config.Config, error) {
	return readConfig(overrides(cmd), urls, files)
}

// readConfig is loadConfig with flags that were already read.
func readConfig(flags map[string]string, urls []string, files *reading) (*config.Config, error) {
	return load(config.Options{
		Environ: env.ToMap(os.Environ()), Overrides: flags, URLs: urls, APIs: apis(), Servers: wire.Servers(), ReadFile: files.read,
	}, files)
}

// load is [config.Load] with the check of files whose format is not ours.
func load(o config.Options, files *reading) (*config.Config, error) {
	c, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	if err := web.Validate(c.WebConfigFile); err != nil {
		return nil, config.Problems{{
			Place: fmt.Sprintf("PROBER_WEB_CONFIG_FILE=%q", c.WebConfigFile), Text: strings.Join(strings.Fields(err.Error()), " "),
			Hint: "see the web configuration of the Prometheus exporter-toolkit",
		}}
	}
	if err := parseFiles(c, files); err != nil {
		return nil, err
	}
	return c, nil
}

// parseFiles parses the books, data sets, certificates and keys of all targets:
// what is wrong with them is wrong with the configuration.
func parseFiles(c *config.Config, files *reading) error {
	var problems config.Problems
	problem := func(t config.Target, err error, hint string) {
		if err != nil {
			problems = append(problems, config.Problem{Place: "target " + t.Name, Text: strings.ReplaceAll(err.Error(), "\n", "; "), Hint: hint})
		}
	}
	for _, t := range c.Targets {
		_, err := promptOptions(t, files, 0)
		problem(t, err, "see PROBER_BOOK_FILE and PROBER_DATASET_FILE")
		_, err = tlsConfig(t, files)
		problem(t, err, "see PROBER_TARGETS_n_CA_FILE, _CERT_FILE and _KEY_FILE")
	}
	if problems != nil {
		return problems
	}
	return nil
}

// apis are the names of the known dialects.
func apis() []string {
	var names []string
	for _, d := range wire.Dialects() {
		names = append(names, d.Name())
	}
	return names
}
