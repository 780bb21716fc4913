// Prober probes LLM inference endpoints continuously and exports what a user would have felt: TTFT, TPOT, ITL and E2EL.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // public authorities, for systems without any, as our image

	"github.com/llm-prober/prober/internal/bench"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/usage"
)

const (
	exitOK     = 0
	exitFailed = 1 // a probe, a check or the program itself failed
	exitUsage  = 2 // the command line or the configuration is wrong
	exitMissed = 3 // what --fail-on names: an objective was missed, or a regression found
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	stream.EnableTimestamps() // until the process ends
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errFailed is the error of a command that has already printed what failed.
var errFailed = errors.New("failed")

// errMisconfigured is the error of a command that has already printed what is wrong with the configuration.
var errMisconfigured = errors.New("misconfigured")

// run runs the program with arguments and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetUsageTemplate(fmt.Sprintf(usageTemplate, format.TableWidth(stdout)))
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	cmd, err := root.ExecuteContextC(ctx)
	_, isUsage := errors.AsType[usage.Problems](err)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFailed), errors.Is(err, bench.ErrFailed):
		return exitFailed
	case errors.Is(err, report.ErrMissed):
		return exitMissed
	case errors.Is(err, errMisconfigured):
		return exitUsage
	case isUsage:
		fmt.Fprintf(stderr, "prober: %v\n", err)
		return exitUsage
	case !started: // cobra did not understand the arguments
		page := strings.TrimSuffix(cmd.CommandPath(), " help") // of prober, if prober help nope was typed
		fmt.Fprintf(stderr, "prober: %v\nprober: see %s --help\n", err, page)
		return exitUsage
	}
	for line := range strings.Lines("prober: " + err.Error()) {
		fmt.Fprintln(stderr, format.Clean(line)) // it may have a server's words
	}
	return exitFailed
}

// usageTemplate is cobra's, with the width of a line of flags in place of %d.
const usageTemplate = `Usage:
  {{.UseLine}}
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{if .HasAvailableSubCommands}}
Commands:
{{range .Commands}}{{if .IsAvailableCommand}}  {{rpad .Name 12}}{{.Short}}
{{end}}{{end}}
The help of a command: {{.CommandPath}} COMMAND --help
{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsagesWrapped %d}}{{if .Flags.Lookup "targets-file"}}
--max-tokens 50 is also PROBER_MAX_TOKENS=50, and max_tokens: 50 in a targets
file. What is on is turned off by =off: --enabled=off. Settings by topic:
docs/configuration.md.
{{end}}{{end}}`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "prober COMMAND",
		Short: "Probe LLM inference endpoints continuously: TTFT, TPOT, ITL and E2EL as native histograms",
		Long: `Prober asks LLM inference endpoints a long question at a low, steady rate,
times the streamed answers token by token, and exports TTFT, TPOT, ITL and E2EL
as native histograms on /metrics and over OTLP.`,
		Example: `  prober demo                        # two simulated stacks: needs nothing
  prober once http://localhost:8000  # one probe of your server, explained
  prober run http://localhost:8000   # probe until told to stop`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          refuseUnknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	build := buildInfo()
	root.Version = fmt.Sprintf("prober %s (revision %s, %s, %s/%s)",
		build.Version, build.Revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newRun(), newOnce(), newBench(), newReport(), newCheck(), newConfig(),
		newSimulate(), newDemo(), newDashboards(), newAlerts(), newDrain(), newVersion(),
	)
	for _, cmd := range root.Commands() {
		cmd.Flags().SortFlags = false // help has them in the order in which they are declared
	}
	root.InitDefaultHelpCmd()
	topics, _, _ := root.Find([]string{"help"}) // it is there by now
	topics.Args = func(_ *cobra.Command, topic []string) error {
		cmd, rest, _ := root.Find(topic)
		return refuseUnknownCommand(cmd, rest)
	}
	return root
}

// refuseUnknownCommand returns an error if arguments are left where the name of a command should be.
func refuseUnknownCommand(cmd *cobra.Command, rest []string) error {
	if len(rest) == 0 || !cmd.HasSubCommands() {
		return nil
	}
	var known []string
	near := ""
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
		if slices.Contains(c.SuggestFor, rest[0]) {
			near = c.Name()
		}
	}
	near = cmp.Or(near, usage.Nearest(rest[0], known))
	if near == "" {
		return fmt.Errorf("unknown command %q for %q", rest[0], cmd.CommandPath())
	}
	return fmt.Errorf("unknown command %q for %q (did you mean %s?)", rest[0], cmd.CommandPath(), near)
}

// buildInfo returns the version and the revision that the Go tool wrote into the binary.
func buildInfo() telemetry.Build {
	build := telemetry.Build{Version: "devel", Revision: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		build.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			build.Revision = s.Value
		}
	}
	return build
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, revision and Go version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), cmd.Root().Version) },
	}
}
