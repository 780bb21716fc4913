package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
)

// Annotations of a command: the flags that its help shows (all, without it), and a text that only --help-all shows.
const (
	mostUsed = "most used flags"
	appendix = "appendix"
)

// help writes the page of a command, as wide as the terminal: with its most used flags, or with all of them by topic.
func help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	width, full, most := report.Terminal(out), cmd.Flags().Changed("help-all"), strings.Fields(cmd.Annotations[mostUsed])
	fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n", cmp.Or(cmd.Long, cmd.Short), cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(out, "\nCommands:\n")
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprint(out, format.Wrap(fmt.Sprintf("  %-12s", c.Name()), c.Short, width))
		}
	}
	var topics []*pflag.FlagSet
	list := func(topic string, f pflag.Flag) {
		if f.DefValue == "none" {
			f.DefValue = ""
		}
		at := slices.IndexFunc(topics, func(s *pflag.FlagSet) bool { return s.Name() == topic })
		if at < 0 {
			at, topics = len(topics), append(topics, pflag.NewFlagSet(topic, pflag.ContinueOnError))
			topics[at].SortFlags = false
		}
		topics[at].AddFlag(&f)
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if (full || len(most) == 0) && !slices.Contains([]string{"help", "help-all", "version"}, f.Name) {
			flag := *f
			if variable := f.Annotations["variable"]; variable != nil {
				flag.Usage += " (" + variable[0] + ")"
			}
			list(append(f.Annotations["topic"], "Flags")[0], flag)
		}
	})
	for i := 0; i < len(most) && !full; i++ {
		f := *cmd.Flags().Lookup(most[i])
		f.Usage, _, _ = strings.Cut(f.Usage, ";")
		list("Flags", f)
	}
	for _, topic := range topics {
		fmt.Fprintf(out, "\n%s:\n%s", topic.Name(), topic.FlagUsagesWrapped(width))
	}
	switch {
	case cmd.HasAvailableSubCommands():
		fmt.Fprintf(out, "\nThe help of a command: %s COMMAND --help\n", cmd.CommandPath())
	case full:
		for line := range strings.Lines(cmd.Annotations[appendix]) {
			const label = 20 // columns
			if strings.HasPrefix(line, "  ") {
				line = format.Wrap(line[:label], line[label:], width)
			}
			fmt.Fprint(out, line)
		}
	case len(most) > 0 || cmd.Annotations[appendix] != "":
		fmt.Fprintf(out, "\nAll flags and details: %s --help-all\n", cmd.CommandPath())
	}
}
