package main

import (
	"context"
	"os"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/daemon"
	"github.com/llm-prober/prober/internal/usage"
)

func newDrain() *cobra.Command {
	var request daemon.DrainRequest
	cmd := &cobra.Command{
		Use:   "drain [URL]",
		Short: "Stop a sidecar from starting probes: its preStop hook",
		Long: `Drain sends POST /-/drain to the prober that runs beside it with the same
environment and PROBER_DRAIN_ENDPOINT=on: it starts no more probes, and those
under way finish. It is the preStop hook of a sidecar.

A drain ends by DELETE /-/drain, or 15 minutes after the last request for it.
A reload does not end it.

The prober is asked on loopback, at the port of PROBER_LISTEN_ADDRESS, over TLS
if PROBER_WEB_CONFIG_FILE says so. Give a URL for another address, or for a
prober with passwords: --password-file FILE http://user@127.0.0.1:9464.`,
		Example: `  prober drain
  prober drain http://127.0.0.1:9464`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, urls []string) error {
			if len(urls) == 1 {
				request.URL = urls[0]
			} else {
				c, ok := daemon.LoadWithoutTargets(env.ToMap(os.Environ()), nil)
				if !ok {
					return usage.Problems{{Place: "PROBER_DRAIN_ENDPOINT", Text: "neither on nor off", Hint: "want on or off"}}
				}
				request.URL = daemon.PageURL(c.ListenAddress, c.WebConfigFile)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
			defer cancel()
			return request.Send(ctx)
		},
	}
	cmd.Flags().StringVar(&request.PasswordFile, "password-file", "",
		"`file` that holds the password of the user in the URL")
	return cmd
}
