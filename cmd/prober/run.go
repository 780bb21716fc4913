package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/internal/config"
)

// How long `prober run` lets running probes end when it stops, and the last
// export after them.
const (
	drainLimit = 10 * time.Second
	flushLimit = 5 * time.Second
)

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [URL…]",
		Short: "Probe until told to stop, and serve /metrics and the status page",
		Long: `Run probes every target at its rate until it gets SIGINT or SIGTERM, and serves:

  /                  page with the last probes of each target
  /metrics           Prometheus metrics, native histograms and classic buckets
  /api/v1/results    the last results as JSON (?target=, ?outcome=, ?limit=)
  /api/v1/targets    the targets as JSON
  /-/healthy         200 while the process serves
  /-/ready           200 while it probes
  /-/reload          POST reads the configuration anew, as SIGHUP does
  /-/drain           with --drain-endpoint: after a POST no more probes begin, until a second one or
                     a reload; prober drain sends it

It does so by itself when the targets file, or another file that was read, holds something
else: a key that was rotated, or a ConfigMap that was changed. A wrong configuration changes
nothing.

Targets are the URLs, or those of the environment (PROBER_TARGETS_0_URL, …) and of the
targets file. A URL with dns+ in front (dns+http://vllm-headless:8000) stands for one target
for each address of its host, which is looked up again and again. With --shard 0/3 a third
of the targets is probed. OTLP export is on when OTEL_EXPORTER_OTLP_ENDPOINT is set. When told to
stop, probes under way have ` + drainLimit.String() + ` to end; a second signal ends all at once.`,
		Example: `  prober run http://localhost:8000
  PROBER_TARGETS_0_URL=http://vllm:8000 PROBER_QPS=0.05 prober run`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			load := func(files *reading) (*config.Config, error) {
				return readConfig(overrides(cmd), urls, files)
			}
			files := newReading()
			c, refused := load(files)
			if refused != nil {
				var ok bool
				if c, ok = idle(refused, env.ToMap(os.Environ()), overrides(cmd)); !ok {
					return refused
				}
			}
			log := newLog(cmd.ErrOrStderr(), c.LogLevel, c.LogFormat)
			defer stayLean(log)()
			listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", c.ListenAddress)
			if err != nil {
				return fmt.Errorf("listen on PROBER_LISTEN_ADDRESS=%q: %w", c.ListenAddress, err)
			}
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			defer signal.Stop(hangups)
			return runInstance(cmd.Context(), &instance{
				config: c, listener: listener, drain: drainLimit, flush: flushLimit, log: log, build: buildInfo(),
				refused: refused, load: load, files: files, hangups: hangups,
			})
		},
	}
	addConfigFlags(cmd)
	return cmd
}

// pageURL is where somebody on this machine finds what is served on an address.
func pageURL(address, webConfig string) string {
	host, port, _ := net.SplitHostPort(address) // a listener's, or validated
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}
	var served struct {
		TLS web.TLSConfig `yaml:"tls_server_config"`
	}
	data, _ := os.ReadFile(webConfig) // none without TLS
	_ = yaml.Unmarshal(data, &served) // validated
	if served.TLS.IsEnabled() {
		u.Scheme = "https"
	}
	return u.String()
}

// runInstance runs i and logs its life.
func runInstance(ctx context.Context, i *instance) error {
	i.log.Info("starting", zap.String("version", i.build.Version), zap.String("revision", i.build.Revision),
		zap.Stringer("address", i.listener.Addr()), zap.Int("targets", len(i.config.Targets)))
	if i.refused != nil {
		i.log.Error("nothing is probed until the configuration is right: a sidecar does not end for that", zap.Error(i.refused))
	}
	for _, warning := range i.config.Warnings {
		i.log.Warn("configuration", zap.String("doubt", warning))
	}
	if err := i.run(ctx); err != nil {
		return err
	}
	i.log.Info("stopped")
	return nil
}

// cost says what probing a target takes.
func (j *job) cost(t config.Target) []zap.Field {
	return []zap.Field{
		zap.String("target", t.Name), zap.String("group", t.Group), zap.String("url", t.URL),
		zap.Float64("qps", t.QPS), zap.String("prompt", t.Prompt),
		zap.Int("prompt_tokens", t.PromptTokens), zap.Int("max_tokens", t.MaxTokens),
		zap.Int("tokens_per_day", j.tokensPerDay(t)),
	}
}
