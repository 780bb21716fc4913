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
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/usage"
)

// A settingValue is the text of a flag that package config parses and judges.
type settingValue struct {
	text string
	kind string // of the values, in one word for help
}

func (v *settingValue) Set(text string) error {
	v.text = text
	return nil
}
func (v *settingValue) String() string { return v.text }
func (v *settingValue) Type() string   { return v.kind }

// addConfigFlags gives a command a flag for each setting that the command called name uses.
func addConfigFlags(cmd *cobra.Command, name string) {
	for _, key := range config.Reference() {
		if key.Flag == "" || len(key.For) > 0 && !slices.Contains(key.For, name) {
			continue
		}
		value := &settingValue{kind: key.Type}
		flag := cmd.Flags().VarPF(value, key.Flag, "", key.Help)
		flag.DefValue = key.Default
		switch {
		case key.Switch: // help shows it without a value, as pflag does for a bool that may be given alone
			value.kind = "bool"
			flag.NoOptDefVal = "true"
		case key.Type == "number":
			value.kind = "n" // the longest names of flags are those of numbers, and help is indented by the longest
		}
	}
}

// unreadable are the problems of values that a flag cannot read, by the type of the flag. They have no place yet.
var unreadable = map[string]usage.Problem{
	"int":    {Text: "not a whole number", Hint: "want a number, for example 10"},
	"uint64": {Text: "not a whole number", Hint: "want a number, for example 10"},
	"uint16": {Text: "not a port", Hint: "want 1 to 65535"},
	"bool":   {Text: "neither true nor false", Hint: "give it alone for true"},
	"intSlice": {
		Text: "not a list of whole numbers",
		Hint: "want numbers with commas between them, for example 1,2,4,8",
	},
	"stringSlice": {Text: "not a list of words", Hint: "want words with commas between them"},
	"duration":    {Text: "not a duration", Hint: "want a duration with its unit, for example 30s"},
}

// inPlaceOfSecrets are the hints for users who look for a flag that would hold a secret, by the name of the flag.
var inPlaceOfSecrets = map[string]string{
	"api-key":      "use --api-key-file FILE, or PROBER_API_KEY",
	"oauth-secret": "use --oauth-secret-file FILE, or PROBER_OAUTH_SECRET",
	"headers": "write the target and its headers into a targets file, or use PROBER_TARGETS_0_URL and " +
		"PROBER_TARGETS_0_HEADERS",
}

// flagError returns an error of a flag as a problem, or with the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	unknown, isUnknown := errors.AsType[*pflag.NotExistError](err)
	invalid, isInvalid := errors.AsType[*pflag.InvalidValueError](err)
	switch {
	case isUnknown:
		return unknownFlag(cmd, unknown)
	case isInvalid:
		problem := unreadable[invalid.GetFlag().Value.Type()]
		problem.Place = usage.FlagPlace(invalid.GetFlag().Name, invalid.GetValue())
		return usage.Problems{problem}
	}
	return err
}

// unknownFlag returns an error that says what to use in place of a flag that the command does not have.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	word, _, _ := strings.Cut(cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()), "=")
	has := func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
	instead, isSecret := inPlaceOfSecrets[word]
	isOfOthers := slices.ContainsFunc(config.Reference(), func(k config.Key) bool {
		return k.Flag == word && len(k.For) > 0
	})
	switch {
	case isSecret && has("api-key-file"):
		return usage.Problems{{
			Place: "--" + word, Text: "secrets have no flags, which other users of this machine can see", Hint: instead,
		}}
	case (word == "rate" || word == "request-rate") && has("qps"): // as other load generators call it
		return fmt.Errorf("%w (did you mean --qps?)", unknown)
	case word == "interval" && has("qps"):
		return fmt.Errorf("%w (did you mean --qps? --qps 0.1 is a probe every 10 s)", unknown)
	case isOfOthers:
		return fmt.Errorf("%w (%s does not accept it)", unknown, cmd.Name())
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	near := usage.Nearest(word, known)
	if near == "" {
		return unknown
	}
	return fmt.Errorf("%w (did you mean --%s?)", unknown, near)
}

// checkFormat returns a problem if the value of --format is none of the known ones.
func checkFormat(value string, known ...string) (problems usage.Problems) {
	if !slices.Contains(known, value) {
		last := len(known) - 1
		hint := "want " + strings.Join(known[:last], ", ") + " or " + known[last]
		problems.Add(usage.FlagPlace("format", value), "unknown", hint)
	}
	return problems
}

// overrides returns the values of the flags that were given, by the names of their settings as in [config.Options]:
// --prompt-tokens is PROMPT_TOKENS. Flags that are no settings are there, too, and nobody looks them up.
func overrides(cmd *cobra.Command) map[string]string {
	given := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		given[strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))] = f.Value.String()
	})
	return given
}

// loadListed does what [loadConfig] does, and adds the targets that sources list, for a command that ends.
func loadListed(cmd *cobra.Command, o config.Options, f *files.Files) (*config.Config, error) {
	c, err := loadConfig(o, f)
	if err != nil {
		return nil, err
	}
	engine.AddListed(cmd.Context(), c, nil, buildInfo().Version)
	if c.MustRefuse(o.Finite) {
		return nil, c.Problems()
	}
	return c, nil
}

// loadConfig reads the configuration of a command: flags over environment over targets file.
func loadConfig(o config.Options, f *files.Files) (*config.Config, error) {
	o.Environ = env.ToMap(os.Environ())
	return daemon.Load(o, f)
}
