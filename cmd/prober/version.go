package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/telemetry"
)

// buildInfo is what the Go tool wrote into the binary.
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), cmd.Root().Version)
			return err
		},
	}
}
