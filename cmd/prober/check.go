package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/wire"
)

func newCheck() *cobra.Command {
	var quick bool
	var g gate
	cmd := &cobra.Command{
		Use:   "check [URL…]",
		Short: "Validate the configuration, reach every target, print the plan",
		Long: `Check validates the configuration, asks every target what it is (models, context
length, dialect, token counting), sends each one short question and one probe as
long as configured, and prints what it learned, the plan and its cost in tokens
a day. It names the prompt length that fits a context that is too short, and the
rate that fits answers that take longer than the time between two probes.

Exit code: 0 if every check passed, 1 if a target failed one, 2 for usage or
configuration, 3 for what --fail-on names.`,
		Example: `  prober check http://localhost:8000
  prober check --targets-file targets.yaml --quick
  prober check http://localhost:8000 --objective 'ttft<5s' --fail-on objective`,
		Annotations: map[string]string{mostUsed: "targets-file quick qps prompt prompt-tokens max-tokens model api-key-file objective fail-on"},
		RunE: func(cmd *cobra.Command, urls []string) error {
			if quick && g.failOn != nil {
				return config.Problems{{Place: "--quick", Text: "sends no probe that --fail-on could judge", Hint: "leave one of them out"}}
			}
			jobs, err := g.assemble(cmd, urls)
			if err != nil {
				return err
			}
			return check(cmd.Context(), jobs, cmd.OutOrStdout(), quick, &g)
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "send no probe of the configured length")
	g.addFlags(cmd, "objective")
	return cmd
}

// check checks every target. The error is the verdict of g.
func check(ctx context.Context, jobs []*engine.Job, w io.Writer, quick bool, g *gate) error {
	passed, measured, total := true, true, 0
	for _, j := range jobs {
		for i, t := range j.Targets {
			fmt.Fprintf(w, "%s  %s\n", t.Name, t.URL)
			c := checker{w: w, target: t, member: j.Members[i], job: j, place: i, gate: g}
			passed = c.run(ctx, quick) && passed
			total += c.plan()
			measured = measured && c.took > 0
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "in all %s a day\n", cost(total, measured))
	return g.verdict(passed)
}

// A checker checks one target and writes a line a step.
type checker struct {
	w      io.Writer
	target config.Target
	member *probe.Member
	job    *engine.Job
	gate   *gate
	place  int           // in the group: its prompts are made exact on the first
	took   time.Duration // by the probe of full length; 0: there was none
}

// run reports whether the target passed.
func (c *checker) run(ctx context.Context, quick bool) bool {
	if !c.discover(ctx) || !c.fits() {
		return false
	}
	c.fit(ctx)
	if !c.ask(ctx) || !c.fits() { // a refusal may have told the context
		return false
	}
	return quick || c.full(ctx)
}

// line writes a line of a step, unless its text is empty.
func (c *checker) line(step, text string, args ...any) {
	if text = fmt.Sprintf(text, args...); text != "" {
		fmt.Fprintf(c.w, "  %-8s %s\n", step, text)
	}
}

// fail writes a failed step and what to do about it.
func (c *checker) fail(step string, r *probe.Result) bool {
	c.line("FAILED", "%s: %s", step, report.Failure(r))
	c.line("", "%s", report.Hint(r))
	return false
}

// discover asks what the server is.
func (c *checker) discover(ctx context.Context) bool {
	start := time.Now()
	models, err := c.member.Discover(ctx)
	if err != nil {
		return c.fail("ask for the models", c.member.Unreached(start, err))
	}
	known := c.member.Capabilities()
	server := cmp.Or(strings.TrimSpace(known.Server.Name+" "+known.Version), "a server of no known type")
	listed := cmp.Or(map[int]string{0: "no model list", 1: "the only one"}[len(models)], fmt.Sprintf("of %d", len(models)))
	c.line("server", "%s, asked by %s, model %s, %s", server, known.Dialect.Name, known.Model, listed)
	var names []string
	for _, m := range models {
		names = append(names, m.ID)
	}
	if len(names) > 0 && !slices.Contains(names, known.Model) {
		c.line("warning", "the server does not list this model; it has %s", format.Shorten(format.Clean(format.List(names)), 200))
	}
	return true
}

// fits compares the configured lengths with the server's context.
func (c *checker) fits() bool {
	misfit := c.job.Misfit(c.target, c.member.Capabilities().Context)
	c.line("FAILED", "%s", misfit)
	return misfit == ""
}

// fit makes the prompts exact.
func (c *checker) fit(ctx context.Context) {
	if c.place > 0 {
		c.line("tokens", "gets the prompts that are made exact on %s", c.job.Targets[0].Name)
		return
	}
	if c.job.Prompts.Workload == prompt.Dataset {
		return
	}
	err := c.job.Fit(ctx)
	off, known := c.job.Off()
	exactness := map[string]string{"token ids": "their token ids", "tokenizer": "the server's tokenizer", "usage": "the usage of answers"}
	switch {
	case errors.Is(err, probe.ErrTooLong): // a probe will tell, or the context is known by now
		c.line("warning", "the prompt is %v", err)
	case errors.Is(err, engine.ErrNoTokenizer):
		c.line("tokens", "no tokenizer route: calibrated by the usage of the first probes")
	case err != nil:
		c.line("warning", "ask the tokenizer: %v; calibrated by the usage of the first probes", err)
	case known && off == 0:
		c.line("tokens", "prompts are exactly %s, by %s", format.Grouped(c.target.PromptTokens), exactness[c.job.ExactBy()])
	case known:
		c.line("warning", "prompts are off by %+d tokens: the server's tokenizer allows no better", off)
	}
}

// ask sends one short question, which costs next to nothing.
func (c *checker) ask(ctx context.Context) bool {
	r := c.member.Probe(ctx, probe.Question{Ask: wire.Ask{
		Prompt: "Words: time year people way day man thing woman life child world school", MaxTokens: engine.ShortAnswer, CacheSalt: "prober-check",
	}})
	if r.Outcome != probe.OK {
		return c.fail("ask a short question", r)
	}
	known := c.member.Capabilities()
	c.line("answer", "%s of %d tokens in %d frames, tokens a frame from: %s",
		countOf(r.Usage.Generated()), engine.ShortAnswer, len(r.Tokens), r.Source)
	label := "supports"
	for _, a := range known.Abilities() {
		source := " (by its type)"
		switch {
		case a.Claim == wire.Unknown:
			source = ""
		case a.Shown:
			source = " (shown)"
		}
		c.line(label, "%-18s %s%s", strings.ReplaceAll(a.Name, "_", " "), a.Claim, source)
		label = ""
	}
	for _, note := range known.Notes() {
		c.line("note", "%s", note)
	}
	return true
}

// full sends probes as long as configured until the length of the prompt is exact, and
// compares the time that the last one took with the plan.
func (c *checker) full(ctx context.Context) bool {
	results, _, skipped := c.job.Ask(ctx, c.place, c.place+1)
	if len(results) == 0 {
		c.gate.judge(c.target.Name)
		c.line("warning", "no probe of full length was sent: %v", skipped)
		return true
	}
	r := results[0]
	if r.Outcome != probe.OK {
		c.fail("probe of full length", r)
		c.fits() // the refusal may have told the context
		return false
	}
	c.gate.judge(r.Target, r)
	ttft, _ := r.TTFT()
	c.took = r.Elapsed
	c.line("probe", "%s tokens of prompt, %s of answer: TTFT %v, %v in all", countOf(r.Usage.Prompt),
		countOf(r.Usage.Generated()), ttft.Round(time.Millisecond), c.took.Round(time.Millisecond))
	for _, warning := range r.Warnings {
		c.line("warning", "%v", warning)
	}
	c.line("warning", "%s", c.job.Skips(c.target, c.took))
	return true
}

// plan writes what will be asked, and returns what it costs in tokens a day.
func (c *checker) plan() int {
	t, o := c.target, c.job.Prompts
	lengths := format.Grouped(o.Tokens) + " tokens"
	switch o.Workload {
	case prompt.Dataset:
		lengths = fmt.Sprintf("their own lengths (%s words on average)", format.Grouped(o.Mean()))
	case prompt.Sessions:
		lengths = fmt.Sprintf("%s and more (%s on average over %d rounds)", lengths, format.Grouped(o.Mean()), o.Rounds)
	}
	perDay := c.job.TokensPerDay(t, c.took)
	c.line("plan", "%s prompts of %s, answers of %d, every %v (%s): %s a day",
		t.Prompt, lengths, t.MaxTokens, c.job.Plan.Interval, t.Arrival, cost(perDay, c.took > 0))
	if t.TokenBudgetPerDay > 0 {
		c.line("", "at most %s tokens a day, by its budget", format.Grouped(t.TokenBudgetPerDay))
	}
	return perDay
}

// cost writes so many tokens; "up to" them unless probes of full length were measured, since otherwise the slots that
// are skipped are not known.
func cost(tokens int, measured bool) string {
	text := format.Grouped(tokens) + " tokens"
	if !measured {
		return "up to " + text
	}
	return text
}

// countOf is a count of tokens, if the server told it.
func countOf(tokens wire.Count) string {
	if !tokens.Known {
		return "uncounted"
	}
	return format.Grouped(tokens.N)
}
