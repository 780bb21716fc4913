package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/sim"
)

// A simulation is what the simulate verb serves.
type simulation struct {
	listen        string
	profiles      []string
	api           string
	server        string
	reasoning     int
	hideReasoning bool
	fault         string
	seed          uint64
	apiKey        string
	noTokenize    bool
	reject        []string
	logWrites     string

	log *sim.WriteLog // made of logWrites; nil: no Write is logged
}

func newSimulate() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Serve simulated LLM endpoints",
		Long: `Simulate serves one endpoint a profile, on consecutive ports, until told to stop. The
profiles have the measured latencies of real systems:

` + profileHelp() + `
Each endpoint takes faults at run time on its own API:

  curl -X PUT  http://127.0.0.1:8801/sim/fault -d '{"itl":1.15}'    tokens 15% slower
  curl -X PUT  http://127.0.0.1:8801/sim/fault -d '{"status":503}'  overloaded
  curl -X DELETE http://127.0.0.1:8801/sim/fault                    well again
  curl http://127.0.0.1:8801/sim/sent                               what was sent, and when

To measure a client, --log-writes says when each Write was due and when it was made, and at
the end on standard error how late the simulator was itself:

` + writesHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8801", "host:port of the first endpoint; the others take the ports after it")
	flags.StringSliceVar(&s.profiles, "profile", []string{"production-stack", "ray-serve"}, "profiles to serve, one endpoint each")
	flags.StringVar(&s.api, "api", "", "API of every endpoint in place of the profile's, one of "+strings.Join(sim.APIs(), ", "))
	flags.StringVar(&s.server, "server", "", "whose OpenAI API to speak where the API is openai, one of "+strings.Join(sim.Kinds(), ", ")+" (vllm if empty)")
	flags.IntVar(&s.reasoning, "reasoning", 0, "first tokens of an answer that are reasoning, on APIs that tell it apart; the profile's if 0")
	flags.BoolVar(&s.hideReasoning, "hide-reasoning", false, "send no frame for reasoning: only usage counts it")
	flags.StringVar(&s.fault, "fault", "", "fault of every endpoint from the start, for example itl=1.15,probability=0.5")
	flags.Uint64Var(&s.seed, "seed", 1, "of all randomness: the same seed, the same run")
	flags.StringVar(&s.apiKey, "api-key", "", "bearer token that clients must send; none if empty")
	flags.BoolVar(&s.noTokenize, "no-tokenize", false, "serve no /tokenize: clients must calibrate by usage")
	flags.StringSliceVar(&s.reject, "reject", nil, "request fields to reject with 400, for example cache_salt,min_tokens")
	flags.StringVar(&s.logWrites, "log-writes", "", "file to write a line to for each Write of a streamed answer when that has ended, in CSV")
	return cmd
}

// profileHelp is a line a profile.
func profileHelp() string {
	var b strings.Builder
	for _, p := range sim.Profiles() {
		fmt.Fprintf(&b, "  %-18s%s\n", p.Name, p.Help)
	}
	return b.String()
}

// run serves until ctx is done.
func (s simulation) run(ctx context.Context, stdout, stderr io.Writer) error {
	if s.logWrites == "" {
		return s.serve(ctx, stdout)
	}
	return s.runLogged(ctx, stdout, stderr)
}

func (s simulation) serve(ctx context.Context, w io.Writer) error {
	endpoints, err := s.open(ctx)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		fmt.Fprintf(w, "%-18s http://%s\n", e.profile.Name, e.listener.Addr())
	}
	return serveAll(ctx, endpoints)
}

// An endpoint is one simulated server and where it listens.
type endpoint struct {
	profile  sim.Profile
	server   *sim.Server
	listener net.Listener
}

// url is the endpoint's base URL.
func (e endpoint) url() string { return "http://" + e.listener.Addr().String() }

// open makes the endpoints and their listeners, so that they can be reached
// before they are served.
func (s simulation) open(ctx context.Context) ([]endpoint, error) {
	profiles, fault, err := s.parse()
	if err != nil {
		return nil, err
	}
	host, port, err := splitAddress(s.listen)
	if err != nil {
		return nil, err
	}
	var endpoints []endpoint
	for i, p := range profiles {
		if port != 0 && i > 0 {
			port++
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			closeAll(endpoints)
			return nil, fmt.Errorf("listen for profile %s: %w", p.Name, err)
		}
		if s.log != nil {
			listener = sim.Noted(listener)
		}
		server := sim.New(sim.Config{
			Profile: p, API: s.api, Server: s.server, Reasoning: s.reasoning, HideReasoning: s.hideReasoning,
			Seed: s.seed + uint64(i), APIKey: s.apiKey, NoTokenize: s.noTokenize, RejectFields: s.reject,
			Precise: p.MaxBatch == 0, Log: s.log,
		})
		endpoints = append(endpoints, endpoint{profile: p, server: server, listener: listener})
		if err := server.SetFault(fault); err != nil {
			closeAll(endpoints)
			return nil, err
		}
	}
	return endpoints, nil
}

// parse reads profiles and fault, and reports all that is wrong with the flags.
func (s simulation) parse() ([]sim.Profile, sim.Fault, error) {
	problems := s.judge()
	var profiles []sim.Profile
	for _, name := range s.profiles {
		p, err := sim.ParseProfile(name)
		if err != nil {
			problems = append(problems, config.Problem{Place: fmt.Sprintf("--profile=%q", name), Text: err.Error()})
		}
		profiles = append(profiles, p)
	}
	fault, err := sim.ParseFault(s.fault)
	if err != nil {
		problems = append(problems, config.Problem{Place: fmt.Sprintf("--fault=%q", s.fault), Text: err.Error()})
	}
	if len(problems) > 0 {
		return nil, fault, problems
	}
	return profiles, fault, nil
}

// judge finds what is wrong with the flags that say how to speak.
func (s simulation) judge() config.Problems {
	var problems config.Problems
	if _, err := sim.ParseAPI(s.api); s.api != "" && err != nil {
		problems = append(problems, config.Problem{Place: fmt.Sprintf("--api=%q", s.api), Text: err.Error()})
	}
	if _, err := sim.ParseKind(s.server); err != nil {
		problems = append(problems, config.Problem{Place: fmt.Sprintf("--server=%q", s.server), Text: err.Error()})
	}
	if s.reasoning < 0 {
		problems = append(problems, config.Problem{Place: fmt.Sprintf("--reasoning=%d", s.reasoning), Text: "must be at least 0", Hint: "want a number of tokens, for example 20"})
	}
	return problems
}

func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, config.Problems{{Place: fmt.Sprintf("--listen=%q", address), Text: "no address", Hint: "want host:port, for example 127.0.0.1:8801"}}
	}
	return host, port, nil
}

func closeAll(endpoints []endpoint) {
	for _, e := range endpoints {
		e.server.Close()
		_ = e.listener.Close()
	}
}

// serveAll serves the endpoints until ctx is done, closes them, and waits until no
// request is under way.
func serveAll(ctx context.Context, endpoints []endpoint) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, e := range endpoints {
		server := &http.Server{Handler: e.server, ReadHeaderTimeout: 10 * time.Second, ConnContext: sim.ConnContext}
		group.Go(func() error {
			if err := server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve profile %s: %w", e.profile.Name, err)
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			e.server.Close()
			return server.Close()
		})
	}
	err := group.Wait()
	for _, e := range endpoints {
		e.server.Wait()
	}
	return err
}
