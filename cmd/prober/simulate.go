package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/usage"
)

// A simulation has the flags of simulate and demo as they were typed.
type simulation struct {
	server sim.Config

	listen   string
	profiles []string
	fault    string
}

func newSimulate() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Serve simulated LLM endpoints",
		Long: `Simulate serves one endpoint per profile, on consecutive ports, until told to
stop: OpenAI's API as vLLM speaks it, or TGI's own. The profiles have the
measured latencies of real systems.

Faults are set at run time, for each endpoint on its own port:

  curl -X PUT    http://127.0.0.1:8801/sim/fault -d '{"itl":1.15}'    15% slower
  curl -X PUT    http://127.0.0.1:8801/sim/fault -d '{"status":503}'
  curl -X DELETE http://127.0.0.1:8801/sim/fault                      healthy
  curl           http://127.0.0.1:8801/sim/sent     what was sent, and when

Profiles:
` + profilesHelp() + `
Faults:
` + strings.TrimRight(sim.FaultsHelp, "\n"),
		Example: `  prober simulate
  prober simulate --profile tgi --listen 127.0.0.1:8900
  prober simulate --profile fast --fault itl=1.15,probability=0.5`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			endpoints, err := s.open(cmd.Context())
			if err != nil {
				return err
			}
			for _, e := range endpoints {
				fmt.Fprintf(cmd.OutOrStdout(), "%-18s %s\n", e.Profile.Name, e.URL())
			}
			return sim.ServeAll(cmd.Context(), endpoints)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8801",
		"`host:port` of the first endpoint; the others take the ports after it")
	flags.StringSliceVar(&s.profiles, "profile", []string{"production-stack", "ray-serve"},
		"profiles to serve, one endpoint each")
	flags.IntVar(&s.server.Reasoning, "reasoning", 0, "number of first tokens of a chat's answer that are reasoning")
	flags.StringVar(&s.fault, "fault", "", "fault of every endpoint from the start, for example itl=1.15,probability=0.5")
	flags.Uint64Var(&s.server.Seed, "seed", 1, "seed of all randomness: the same seed gives the same run")
	return cmd
}

// profilesHelp returns the profiles with what they simulate.
func profilesHelp() (lines string) {
	const width = 80 // of a terminal
	for _, p := range sim.Profiles() {
		lines += format.Wrap(fmt.Sprintf("  %-18s", p.Name), p.Help, width)
	}
	return lines
}

// open returns the endpoints. If flags are wrong, the error has all their problems.
func (s simulation) open(ctx context.Context) ([]sim.Endpoint, error) {
	var problems usage.Problems
	check := func(flag string, value any, err error) {
		if err != nil {
			problems.Add(usage.FlagPlace(flag, value), err.Error(), "")
		}
	}
	if s.server.Reasoning < 0 {
		check("reasoning", s.server.Reasoning, errors.New("must be at least 0; want a number of tokens, for example 20"))
	}
	var profiles []sim.Profile
	for _, name := range s.profiles {
		p, err := sim.ParseProfile(name)
		if err != nil {
			problems = append(problems, usage.Unknown(usage.FlagPlace("profile", name), name, sim.ProfileNames()))
		}
		profiles = append(profiles, p)
	}
	fault, err := sim.ParseFault(s.fault)
	check("fault", s.fault, err)
	first, err := net.ResolveTCPAddr("tcp", s.listen)
	check("listen", s.listen, err)
	if problems != nil {
		return nil, problems
	}
	return sim.Open(ctx, *first, profiles, s.server, fault)
}
