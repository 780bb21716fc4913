package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/daemon"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/usage"
)

// What `prober run` waits for at most when it stops: first the probes under way, then the last export.
const (
	runGrace = 10 * time.Second
	runFlush = 5 * time.Second
)

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [URL…]",
		Short: "Probe until told to stop, with /metrics and a status page",
		Long: `Run probes every target at its rate until SIGINT or SIGTERM. It serves a status
page (/), /metrics for Prometheus, the last results as JSON (/api/v1/results,
/api/v1/targets), /-/healthy, /-/ready and POST /-/reload, and exports over OTLP
when OTEL_EXPORTER_OTLP_ENDPOINT is set.

Targets are the URLs, or those of the environment (PROBER_TARGETS_0_URL, …) and
of the targets file. A URL with dns+ in front (dns+http://vllm-headless:8000)
stands for one target for each address of its host. Prometheus' HTTP service
discovery (PROBER_HTTP_SD_0_URL, …) lists further targets.

It reloads when the targets file, or another file that was read, changes. A
target whose settings are wrong is not probed, and the page says why; the others
are. If nothing is right, run ends, and a reload changes nothing. When told to
stop, probes under way have ` + runGrace.String() + ` to end; a second signal ends them at once.`,
		Example: `  prober run http://localhost:8000
  prober run a=http://10.0.0.1:8000 b=http://10.0.0.2:8000 --qps 0.05
  PROBER_TARGETS_FILE=targets.yaml prober run`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			signal.Ignore(syscall.SIGPIPE) // it serves on if nobody reads its output any more
			load := func(f *files.Files) (*config.Config, error) {
				return loadConfig(config.Options{Overrides: overrides(cmd), URLs: urls}, f)
			}
			f := files.New()
			c, refused := load(f)
			if refused != nil {
				idle, ok := daemon.LoadIdle(refused, env.ToMap(os.Environ()), overrides(cmd))
				if !ok {
					return refused
				}
				c = idle
			}
			listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", c.ListenAddress)
			if err != nil {
				return listenError(cmd, c.ListenAddress, err)
			}
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			defer signal.Stop(hangups)
			log := newLog(cmd.ErrOrStderr(), c.LogLevel, c.LogFormat)
			defer saveMemory(log)()
			d := daemon.Daemon{
				Config: c, Files: f, Refused: refused, Listener: listener, Grace: runGrace, Flush: runFlush,
				Log: log, Build: buildInfo(),
				Live: c.LogFormat != "json" && format.IsTerminal(cmd.ErrOrStderr()),
				Load: load, Hangups: hangups,
			}
			return d.Run(cmd.Context())
		},
	}
	addConfigFlags(cmd, cmd.Name())
	return cmd
}

// listenError returns err with the address as it was given. It is no usage error, so that a service manager tries
// again.
func listenError(cmd *cobra.Command, address string, err error) error {
	place := fmt.Sprintf("PROBER_LISTEN_ADDRESS=%q", address)
	if cmd.Flags().Changed("listen-address") {
		place = usage.FlagPlace("listen-address", address)
	}
	return fmt.Errorf("%s: %w; want a free address of this machine, for example 127.0.0.1:9465", place, err)
}
