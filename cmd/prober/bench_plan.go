package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/bench"
	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/probe"
)

// A benchPlan is what a bench does, validated.
type benchPlan struct {
	benchmark
	wish    bench.Wish
	lengths []*config.Config // one for each length of a prompt
	assets  *engine.Assets   // that they were read from
	dial    probe.Dial       // how targets are reached; nil: over the network
}

// plan reads flags and configuration, and reports all that is wrong with them.
func (b benchmark) plan(cmd *cobra.Command, urls []string) (*benchPlan, error) {
	p := &benchPlan{benchmark: b, assets: engine.NewAssets(config.ReadFile), wish: bench.Wish{
		Requests: b.requests, Duration: b.duration, AtOnce: b.concurrency, Ladder: b.ladder,
	}}
	given := overrides(cmd)
	problems := p.judge(cmd)
	if given["QPS"] == "inf" {
		p.wish.Unpaced = true
		delete(given, "QPS")
	}
	if _, paced := given["QPS"]; !paced && b.concurrency > 0 {
		p.wish.Unpaced = true
	}
	problems = append(problems, p.judgePace(given)...)
	several := len(urls) > 1 || strings.Contains(strings.Join(urls, ""), "dns+http")
	if _, grouped := given["GROUP"]; several && !grouped {
		given["GROUP"] = "bench"
	}
	lengths := given["PROMPT_TOKENS"]
	for tokens := range strings.SplitSeq(lengths, ",") {
		if tokens = strings.TrimSpace(tokens); tokens == "" && lengths != "" {
			problems = append(problems, config.Problem{Place: place("prompt-tokens", lengths), Text: "a length is missing", Hint: "want lengths with commas between them, for example 80,10000"})
			continue
		}
		c, err := b.configure(given, tokens, urls, p.assets)
		problems = appendProblems(problems, err)
		if err == nil {
			p.lengths = append(p.lengths, c)
		} else if problems == nil {
			return nil, err
		}
	}
	if problems != nil {
		return nil, problems
	}
	return p, nil
}

// appendProblems appends those that err is and that are new.
func appendProblems(problems config.Problems, err error) config.Problems {
	var more config.Problems
	if !errors.As(err, &more) {
		return problems
	}
	for _, p := range more {
		if !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	return problems
}

// configure is the configuration for prompts of a length; empty is the default.
func (b benchmark) configure(given map[string]string, tokens string, urls []string, assets *engine.Assets) (*config.Config, error) {
	given["PROMPT_TOKENS"] = tokens
	if tokens == "" {
		delete(given, "PROMPT_TOKENS")
	}
	c, err := loadConfig(given, urls, assets)
	if err != nil {
		return nil, err
	}
	for i := range c.Targets {
		t := &c.Targets[i]
		t.BackoffLimit = 0 // a load that is too much is what was asked for
		if t.MaxInFlight = b.concurrency; b.concurrency == 0 || len(b.ladder) > 0 {
			t.MaxInFlight = math.MaxInt
		}
	}
	return c, nil
}

// judge finds what is wrong with the flags of bench.
func (b benchmark) judge(cmd *cobra.Command) config.Problems {
	var problems config.Problems
	wrong := func(flag string, value any, text, hint string) {
		problems = append(problems, config.Problem{Place: place(flag, value), Text: text, Hint: hint})
	}
	if cmd.Flags().Changed("requests") && b.requests < 1 {
		wrong("requests", b.requests, "must be at least 1", "want a number of requests, for example 100")
	}
	if cmd.Flags().Changed("duration") && b.duration <= 0 {
		wrong("duration", b.duration, "must be above 0", "want a duration with its unit, for example 5m")
	}
	if cmd.Flags().Changed("concurrency") && b.concurrency < 1 {
		wrong("concurrency", b.concurrency, "must be at least 1", "want a number of requests, for example 8")
	}
	if b.every < 0 || b.every > 0 && b.every < time.Second {
		wrong("every", b.every, "must be at least 1s, or 0 for no blocks", "want a duration with its unit, for example 30s")
	}
	for _, n := range b.ladder {
		if n < 1 {
			wrong("ladder", join(b.ladder), "each step must be at least 1", "want numbers of requests, for example 1,2,4,8")
			break
		}
	}
	return append(problems, checkTables(b.format, b.plot)...)
}

// judgePace finds what cannot be had together.
func (p *benchPlan) judgePace(given map[string]string) config.Problems {
	var problems config.Problems
	wrong := func(flag string, value any, text, hint string) {
		problems = append(problems, config.Problem{Place: place(flag, value), Text: text, Hint: hint})
	}
	_, paced := given["QPS"]
	ladder := len(p.ladder) > 0
	if ladder && paced {
		wrong("qps", given["QPS"], "a ladder has no rate: each of its steps is so many requests at once", "leave it out, or say inf")
	}
	if ladder && p.concurrency > 0 {
		wrong("concurrency", p.concurrency, "a ladder says itself how many are under way", "leave it out")
	}
	if !ladder && p.wish.Unpaced && p.concurrency == 0 && p.requests == 0 {
		wrong("qps", "inf", "nobody says how many requests to send at once", "want --requests or --concurrency beside it")
	}
	return problems
}

func join(list []int) string {
	var words []string
	for _, n := range list {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

// loads are the steps for one group.
func (p *benchPlan) loads(j *engine.Job) []bench.Load {
	loads := p.wish.Loads()
	for i := range loads {
		if p.wish.Paced() {
			loads[i].Plan = j.Plan
		}
	}
	return loads
}

// title says in a line what is run.
func (p *benchPlan) title() string {
	var names []string
	for _, t := range p.lengths[0].Targets {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("prober bench: %s", strings.Join(names, ", "))
}
