package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-prober/prober/internal/format"
)

// Annotations of a command: the flags that its help shows (all, without it), and a text that only --help-all shows.
const (
	mostUsed = "most used flags"
	appendix = "appendix"
)

// help prints the help of a command, as wide as the terminal: with its most used flags, or with all of them by topic.
func help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	width := format.TableWidth(out)
	full := cmd.Flags().Changed("help-all")
	most := strings.Fields(cmd.Annotations[mostUsed])
	fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n", cmp.Or(cmd.Long, cmd.Short), cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
	var topics []string
	lists := map[string]string{} // by topic
	add := func(topic, text string) {
		if !slices.Contains(topics, topic) {
			topics = append(topics, topic)
		}
		lists[topic] += text
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			add("Commands", format.Wrap(fmt.Sprintf("  %-12s", c.Name()), c.Short, width))
		}
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if (full || len(most) == 0) && !slices.Contains([]string{"help", "help-all", "version"}, f.Name) {
			add(append(f.Annotations["topic"], "Flags")[0], flagHelp(*f, width))
		}
	})
	for i := 0; i < len(most) && !full; i++ {
		f := *cmd.Flags().Lookup(most[i])
		f.Usage, _, _ = strings.Cut(f.Usage, ";")
		f.Annotations = nil
		add("Flags", flagHelp(f, width))
	}
	for _, topic := range topics {
		fmt.Fprintf(out, "\n%s:\n%s", topic, lists[topic])
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

// flagHelp returns the help of a flag: its name, the type of its values, its usage, its default, and its variable.
func flagHelp(f pflag.Flag, width int) string {
	const column = 26
	kind, usage := pflag.UnquoteUsage(&f)
	kind = cmp.Or(map[string]string{
		"int": "number", "uint": "number", "uint16": "number", "ints": "numbers",
		"string": "text", "stringArray": "text", "strings": "list",
	}[kind], kind)
	head := "  --" + f.Name
	switch {
	case f.Shorthand != "":
		head = "  -" + f.Shorthand + ", --" + f.Name + " " + kind
	case f.NoOptDefVal != "" && kind != "":
		head += "[=" + kind + "]"
	case kind != "":
		head += " " + kind
	}
	var more []string
	if !slices.Contains([]string{"", "0", "0s", "false", "[]", "none"}, f.DefValue) {
		more = append(more, "default "+strings.Trim(f.DefValue, "[]"))
	}
	if more = append(more, f.Annotations["variable"]...); more != nil {
		usage += " (" + strings.Join(more, "; ") + ")"
	}
	if len(head) > column-2 {
		return head + "\n" + format.Wrap(strings.Repeat(" ", column), usage, width)
	}
	return format.Wrap(fmt.Sprintf("%-*s", column, head), usage, width)
}
