package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/daemon"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/sim"
)

// The demo's own defaults: it probes three times as often as run, so that a minute shows something, and stops sooner.
const (
	demoQPS    = "0.3333"
	demoGrace  = time.Second
	demoFlush  = 800 * time.Millisecond
	demoListen = "127.0.0.1:9464"
)

func newDemo() *cobra.Command {
	s := simulation{listen: "127.0.0.1:0", server: sim.Config{Seed: 1}}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Probe two simulated stacks: needs nothing",
		Long: `Demo serves simulated LLM endpoints on loopback and probes them every three
seconds with 21,000-token prompts: simulate and run in one process. Nothing
leaves this machine. From the environment it reads the variables of its flags,
but no targets and no keys.

It listens on ` + demoListen + `, or on a free port if that is taken.`,
		Example: `  prober demo
  prober demo --profile production-stack,ray-serve,tgi
  prober demo --prompt-tokens 1000 --fault itl=1.15`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGPIPE) // it serves on if nobody reads its output any more
			endpoints, err := s.open(cmd.Context())
			if err != nil {
				return err
			}
			defer sim.CloseAll(endpoints)
			f := files.New()
			c, err := demoConfig(cmd, endpoints, f)
			if err != nil {
				return err
			}
			var socket net.ListenConfig
			listener, err := socket.Listen(cmd.Context(), "tcp", c.ListenAddress)
			if err != nil && c.ListenAddress == demoListen { // it is taken: any free port will do
				listener, err = socket.Listen(cmd.Context(), "tcp", "127.0.0.1:0")
			}
			if err != nil {
				return listenError(cmd, c.ListenAddress, err)
			}
			printDemo(cmd.OutOrStdout(), listener.Addr().String(), c.Targets[0], endpoints)
			log := newLog(cmd.ErrOrStderr(), c.LogLevel, c.LogFormat)
			defer saveMemory(log)()
			d := &daemon.Daemon{
				Config: c, Files: f, Listener: listener, Grace: demoGrace, Flush: demoFlush, Log: log, Build: buildInfo(),
				Live: c.LogFormat != "json" && format.IsTerminal(cmd.ErrOrStderr()), Simulated: true,
			}
			return d.RunBeside(cmd.Context(), func(ctx context.Context) error { return sim.ServeAll(ctx, endpoints) })
		},
	}
	cmd.Flags().StringSliceVar(&s.profiles, "profile", []string{"production-stack", "ray-serve"},
		"profiles to simulate, one endpoint each")
	cmd.Flags().StringVar(&s.fault, "fault", "", "fault of every endpoint from the start, for example itl=1.15")
	cmd.Flags().Uint64Var(&s.server.Seed, "seed", s.server.Seed, "seed of all the simulator's randomness")
	addConfigFlags(cmd, cmd.Name())
	cmd.Flags().Lookup("qps").DefValue = demoQPS
	cmd.Flags().Lookup("listen-address").DefValue = demoListen
	return cmd
}

// demoConfig returns a configuration whose only targets are the endpoints. From the environment it takes the variables
// of the demo's flags, and so no keys.
func demoConfig(cmd *cobra.Command, endpoints []sim.Endpoint, f *files.Files) (*config.Config, error) {
	environ := map[string]string{
		"PROBER_QPS": demoQPS, "PROBER_LISTEN_ADDRESS": demoListen,
		"PROBER_MAX_TOKENS_PER_DAY": "none", // simulated ones cost nothing
	}
	for _, key := range config.Reference() {
		value, given := os.LookupEnv(key.Variable)
		if given && cmd.Flags().Lookup(key.Flag) != nil {
			environ[key.Variable] = value
		}
	}
	for n, e := range endpoints {
		target := fmt.Sprintf("PROBER_TARGETS_%d_", n)
		environ[target+"URL"] = e.URL()
		environ[target+"NAME"] = e.Profile.Name
		environ[target+"GROUP"] = "demo"
	}
	return daemon.Load(config.Options{Environ: environ, Overrides: overrides(cmd)}, f)
}

// demoFaults are the faults that the demo offers, with what a user then sees. The list is only read.
var demoFaults = []struct{ json, help string }{
	{`{"itl":3}`, "tokens come three times slower: slow, in a minute"},
	{`{"stall":10}`, "200, ten tokens, then silence: hanging, stalled in 30 s"},
	{`{"status":503}`, "overloaded, at once"},
	{`{"degenerate":true}`, "one token again and again: wrong_answer, if ten answers were right before"},
	{`{"wrong_answer":true}`, "with demo --prompt canary: wrong_answer, at once"},
}

// printDemo prints what the demo serves where, and how to make a simulated server slow or fail.
func printDemo(w io.Writer, address string, t config.Target, endpoints []sim.Endpoint) {
	interval := format.Short(t.Interval().Seconds())
	tokens := format.Grouped(t.PromptTokens)
	fmt.Fprintf(w, "prober demo: simulated stacks, probed every %s with %s-token prompts. Nothing is paid for them.\n\n",
		interval, tokens)
	fmt.Fprintf(w, "  page     http://%s/\n", address)
	fmt.Fprintf(w, "  metrics  http://%s/metrics\n", address)
	fmt.Fprintf(w, "  results  http://%s/api/v1/results\n\n", address)
	for _, e := range endpoints {
		fmt.Fprintf(w, "  %-18s %s\n%s", e.Profile.Name, e.URL(), format.Wrap("    ", e.Profile.Help, format.TableWidth(w)))
	}
	url := endpoints[0].URL()
	fmt.Fprintf(w, "\nHarm %s, and look at the page:\n\n", endpoints[0].Profile.Name)
	for _, fault := range demoFaults {
		fmt.Fprintf(w, "  # %s\n  curl -X PUT %s/sim/fault -d '%s'\n", fault.help, url, fault.json)
	}
	fmt.Fprintf(w, "  # undo it\n  curl -X DELETE %s/sim/fault\n\n", url)
	fmt.Fprintf(w, "Ctrl-C ends it.\n\n")
}
