package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// checkWords are what check asks each server first: little, so that it costs next to nothing.
const checkWords = "Words: time year people way day man thing woman life child world school"

func newCheck() *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "check [URL…]",
		Short: "Validate the configuration, reach every target, and print the plan",
		Long: `Check validates the configuration, asks every target what it is (models, context length,
dialect, token counting), sends each one short question and one probe as long as
configured, and prints what was learnt, the plan and its cost in tokens a day. It says
which prompt length fits a context that is too short, and which rate fits a server that
needs longer for an answer than the time between two probes. --quick leaves the long
probe out.

Exit code: 0 if all is well, 1 if a target is not, 2 for usage or configuration.`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			assets := engine.NewAssets(config.ReadFile)
			c, err := loadConfig(overrides(cmd), urls, assets)
			if err != nil {
				return err
			}
			return check(cmd.Context(), c, assets, cmd.OutOrStdout(), quick)
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "send no probe of the configured length")
	addConfigFlags(cmd)
	return cmd
}

// check checks every target of c. It returns errFailed if one is not well.
func check(ctx context.Context, c *config.Config, assets *engine.Assets, w io.Writer, quick bool) error {
	jobs, err := engine.Assemble(engine.Present(ctx, c), assets, nil, buildInfo().Version)
	if err != nil {
		return err
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
	well, measured, total := true, true, 0
	for _, j := range jobs {
		for i, m := range j.Members {
			t := j.Targets[i]
			fmt.Fprintf(w, "%s  %s\n", t.Name, t.URL)
			checker := checker{w: w, target: t, member: m, job: j, place: i, quick: quick}
			if !checker.run(ctx) {
				well = false
			}
			total += checker.perDay()
			measured = measured && checker.took > 0
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "in all %s%s tokens a day\n", upTo(measured), format.Grouped(total))
	if !well {
		return errFailed
	}
	return nil
}

// A checker checks one target and writes a line a step.
type checker struct {
	w      io.Writer
	target config.Target
	member *probe.Member
	job    *engine.Job
	place  int // in the group: its prompts are made exact on the first
	quick  bool

	took time.Duration // by the probe of full length; 0: there was none
}

// run reports whether the target is well.
func (c *checker) run(ctx context.Context) bool {
	defer c.plan()
	if !c.discover(ctx) || !c.fits() {
		return false
	}
	c.count(ctx)
	if !c.ask(ctx) || !c.fits() { // what was refused may have told the context
		return false
	}
	return c.quick || c.full(ctx)
}

// fits holds the configured lengths against the server's context.
func (c *checker) fits() bool {
	misfit := c.job.Misfit(c.target, c.member.Capabilities().Context)
	if misfit != "" {
		c.line("FAILED", "%s", misfit)
	}
	return misfit == ""
}

// full sends probes as long as configured until the length of the prompt is exact, as
// `prober once` does, and compares the time that the last one took with the plan.
func (c *checker) full(ctx context.Context) bool {
	r, skipped := c.job.Full(ctx, c.place)
	switch {
	case r == nil:
		c.line("warning", "no probe of full length was sent: %v", skipped)
		return true
	case r.Outcome != probe.OK:
		c.fail("probe of full length", r)
		c.fits() // the refusal may have told the context
		return false
	}
	ttft, _ := r.TTFT()
	c.took = r.Elapsed
	c.line("probe", "%s tokens of prompt, %s of answer: TTFT %v, %v in all", countOf(r.Usage.Prompt),
		countOf(r.Usage.Generated()), ttft.Round(time.Millisecond), c.took.Round(time.Millisecond))
	for _, warning := range r.Warnings {
		c.line("warning", "%v", warning)
	}
	if skips := c.job.Skips(c.target, c.took); skips != "" {
		c.line("warning", "%s", skips)
	}
	return true
}

// countOf is a count of tokens, if the server told it.
func countOf(tokens wire.Count) string {
	if !tokens.Known {
		return "uncounted"
	}
	return format.Grouped(tokens.N)
}

// perDay is the tokens that the target costs a day.
func (c *checker) perDay() int { return c.job.SentPerDay(c.target, c.took) }

// upTo is said of a cost unless probes of full length were measured: how many slots
// are skipped is not known then.
func upTo(measured bool) string {
	if measured {
		return ""
	}
	return "up to "
}

func (c *checker) line(step, format string, args ...any) {
	fmt.Fprintf(c.w, "  %-8s %s\n", step, fmt.Sprintf(format, args...))
}

// fail writes a failed step and what to do about it.
func (c *checker) fail(step string, r *probe.Result) bool {
	c.line("FAILED", "%s: %s", step, report.Failure(r))
	if hint := report.Hint(r); hint != "" {
		c.line("", "%s", hint)
	}
	return false
}

// discover asks what the server is.
func (c *checker) discover(ctx context.Context) bool {
	start := time.Now()
	found, err := c.member.Discover(ctx)
	if err != nil {
		return c.fail("ask for the models", c.member.Unreached(start, err))
	}
	known := c.member.Capabilities()
	c.line("server", "%s by %s, model %s%s", kindOf(known), known.Dialect.Name(), known.Model, listed(found))
	if !found.Serves(known.Model) {
		c.line("warning", "the server does not list this model; it has %s", names(found.Models))
	}
	return true
}

// kindOf is the kind of server that was found, and its version.
func kindOf(known probe.Capabilities) string {
	if known.Server.Name == "" {
		return "a server of no known kind, asked"
	}
	return strings.TrimSpace(known.Server.Name+" "+known.Version) + ", asked"
}

// listed says how many models there are.
func listed(f probe.Findings) string {
	switch len(f.Models) {
	case 0:
		return ", no model list"
	case 1:
		return ", the only one"
	}
	return fmt.Sprintf(", of %d", len(f.Models))
}

// names is a list of models, cut after five.
func names(models []wire.Model) string {
	text := ""
	for i, m := range models {
		switch {
		case i == 5:
			return text + fmt.Sprintf(" and %d more", len(models)-5)
		case i > 0:
			text += ", "
		}
		text += m.ID
	}
	return text
}

// count finds out how prompts are made exact.
func (c *checker) count(ctx context.Context) {
	if c.place > 0 {
		c.line("tokens", "gets the prompts that are made exact on %s", c.job.Targets[0].Name)
		return
	}
	if c.job.Prompts.Workload == prompt.Dataset {
		return
	}
	err := c.job.Fit(ctx)
	off, known := c.job.Off()
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

// exactness is what makes a length exact, in words.
var exactness = map[string]string{
	"token ids": "their token ids", "tokenizer": "the server's tokenizer", "usage": "the usage of answers",
}

// ask sends one short question.
func (c *checker) ask(ctx context.Context) bool {
	ask := wire.Ask{Prompt: checkWords, MaxTokens: engine.ShortAnswer, CacheSalt: "prober-check"}
	r := c.member.Probe(ctx, probe.Question{Ask: ask})
	if r.Outcome != probe.OK {
		return c.fail("ask a short question", r)
	}
	known := c.member.Capabilities()
	c.line("answer", "%s of %d tokens in %d frames, tokens a frame from: %s",
		countOf(r.Usage.Generated()), engine.ShortAnswer, len(r.Timeline.Tokens), r.Source)
	for i, a := range known.Abilities() {
		c.line(first("held to", i), "%s", ability(a))
	}
	for _, note := range known.Notes() {
		c.line("note", "%s", note)
	}
	return true
}

// first is the label of the first line of several.
func first(label string, i int) string {
	if i > 0 {
		return ""
	}
	return label
}

// ability says whether the server can be held to something, and who says so.
func ability(a probe.Ability) string {
	source := "by its kind"
	if a.Shown {
		source = "shown"
	}
	if a.Claim == wire.Unknown {
		return fmt.Sprintf("%-18s unknown", words(a.Name))
	}
	return fmt.Sprintf("%-18s %s (%s)", words(a.Name), a.Claim, source)
}

func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// plan writes what will be asked, and what it costs.
func (c *checker) plan() {
	t := c.target
	c.line("plan", "%s prompts of %s, answers of %d, every %v (%s): %s%s tokens a day",
		t.Prompt, c.lengths(), t.MaxTokens, c.job.Plan.Interval, t.Arrival, upTo(c.took > 0), format.Grouped(c.perDay()))
	if t.TokenBudgetPerDay > 0 {
		c.line("", "at most %s tokens a day, by its budget", format.Grouped(t.TokenBudgetPerDay))
	}
}

// lengths says how long prompts are.
func (c *checker) lengths() string {
	o := c.job.Prompts
	switch o.Workload {
	case prompt.Dataset:
		return fmt.Sprintf("their own lengths (%s words in the mean)", format.Grouped(o.Mean()))
	case prompt.Sessions:
		return fmt.Sprintf("%s tokens and more (%s in the mean of %d rounds)", format.Grouped(o.Tokens), format.Grouped(o.Mean()), o.Rounds)
	}
	return format.Grouped(o.Tokens) + " tokens"
}
