// Package check asks targets what they are, and compares what they can with the plan.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// A Check is what was found out, and in JSON the document.
type Check struct {
	Out   io.Writer                                                         `json:"-"` // for a line a finding
	Quick bool                                                              `json:"-"` // no probe of full length is sent
	Judge func(target string, results ...*probe.Result) []report.Attainment `json:"-"` // of the probes of full length

	Passed       bool           `json:"passed"`
	Problems     usage.Problems `json:"problems,omitempty"` // of the configuration; targets without one are checked all the same
	Targets      []*Target      `json:"targets,omitempty"`
	TokensPerDay int            `json:"tokens_per_day"` // at most
}

// A Target is one that was checked.
type Target struct {
	Name         string    `json:"name"`
	URL          string    `json:"url"`
	Passed       bool      `json:"passed"`
	TokensPerDay int       `json:"tokens_per_day"` // at most
	Findings     []Finding `json:"findings"`

	Objectives []report.Attainment `json:"objectives,omitempty"` // of the probe of full length
}

// A Finding is what one step came to.
type Finding struct {
	Step string `json:"step"`           // failed, warning, server, tokens, answer, supports, note, probe or plan
	Name string `json:"name,omitempty"` // of what the server supports
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"` // what to do
}

// Run checks every target.
func (c *Check) Run(ctx context.Context, jobs []*engine.Job) {
	c.Passed = len(c.Problems) == 0
	measured := true
	for _, j := range jobs {
		j.Insist()
		for i, t := range j.Targets {
			fmt.Fprintf(c.Out, "%s  %s\n", t.Name, t.URL)
			one := checker{Check: c, found: &Target{Name: t.Name, URL: t.URL}, target: t, member: j.Members[i], job: j, place: i}
			one.found.Passed = one.run(ctx)
			one.plan()
			c.Targets = append(c.Targets, one.found)
			c.Passed = c.Passed && one.found.Passed
			c.TokensPerDay += one.found.TokensPerDay
			measured = measured && one.took > 0
			fmt.Fprintln(c.Out)
		}
	}
	fmt.Fprintf(c.Out, "in all %s a day\n", cost(c.TokensPerDay, measured))
}

type checker struct {
	*Check

	found  *Target
	target config.Target
	member *probe.Member
	job    *engine.Job
	place  int           // in the group: its prompts are made exact on the first
	took   time.Duration // by the probe of full length; 0: there was none
}

func (c *checker) run(ctx context.Context) bool {
	if !c.discover(ctx) || !c.fits() {
		return false
	}
	c.pieces()
	c.fit(ctx)
	if !c.ask(ctx) || !c.fits() { // a refusal may have told the context
		return false
	}
	return c.Quick || c.full(ctx)
}

func (c *checker) line(step, text string, args ...any) {
	c.find(Finding{Step: step, Text: fmt.Sprintf(text, args...)})
}

func (c *checker) find(f Finding) {
	if f.Text == "" {
		return
	}
	label := strings.Replace(f.Step, "failed", "FAILED", 1)
	if n := len(c.found.Findings); n > 0 && f.Step == "supports" && c.found.Findings[n-1].Step == f.Step {
		label = ""
	}
	c.found.Findings = append(c.found.Findings, f)
	text := strings.TrimPrefix(strings.ReplaceAll(f.Name, "_", " ")+": "+f.Text, ": ")
	width := math.MaxInt // for grep
	if format.IsTerminal(c.Out) {
		width = format.TableWidth(c.Out)
	}
	fmt.Fprint(c.Out, format.Wrap(fmt.Sprintf("  %-8s ", label), text, width))
	if f.Hint != "" {
		fmt.Fprint(c.Out, format.Wrap(fmt.Sprintf("  %-8s ", ""), f.Hint, width))
	}
}

func (c *checker) fail(step string, r *probe.Result) bool {
	c.find(Finding{Step: "failed", Text: step + ": " + r.Failure(), Hint: r.Hint()})
	return false
}

func (c *checker) discover(ctx context.Context) bool {
	start := time.Now()
	models, err := c.member.Discover(ctx)
	if err != nil {
		return c.fail("ask for the models", c.member.Unreached(start, err))
	}
	known := c.member.Capabilities()
	server := cmp.Or(strings.TrimSpace(known.Server.Name+" "+known.Version), "a server of no known type")
	c.line("server", "%s, asked by %s, %s", server, known.Dialect.Name, modelIn(models, known.Model))
	if len(models) > 0 && !lists(models, known.Model) {
		c.find(Finding{
			Step: "warning", Text: "the server lists no model of that name: " + names(models),
			Hint: "check PROBER_TARGETS_n_MODEL (--model); without it the first of the list is probed",
		})
	}
	return true
}

// modelIn is the model that is probed, and its place among those of the server.
func modelIn(models []wire.Model, model string) string {
	switch {
	case len(models) == 0 && model == "":
		return "no model list, and no model is named"
	case len(models) == 0:
		return "model " + model + ", no model list"
	case !lists(models, model):
		return "model " + model + ", which it does not list"
	case len(models) == 1:
		return "model " + model + ", the only one"
	}
	return fmt.Sprintf("model %s, of %d", model, len(models))
}

// lists reports whether a server serves a model of that name: Ollama lists it with a tag that may be left out.
func lists(models []wire.Model, name string) bool {
	return slices.ContainsFunc(models, func(m wire.Model) bool { return m.ID == name || m.ID == name+":latest" })
}

// names are those of models, as many as fit into a line.
func names(models []wire.Model) string {
	var list []string
	for _, m := range models {
		list = append(list, m.ID)
	}
	return "it has " + format.Shorten(format.Clean(format.List(list)), 200)
}

// fits compares the configured lengths with the server's context.
func (c *checker) fits() bool {
	misfit := c.job.Misfit(c.target, c.member.Capabilities().Limits)
	c.line("failed", "%s", misfit)
	return misfit == ""
}

// pieces says what a server that generates long answers in pieces makes of those that are configured.
func (c *checker) pieces() {
	text, hint := engine.Pieces(c.target, c.member.Capabilities().Server)
	c.find(Finding{Step: "warning", Text: text, Hint: hint})
}

// fit makes the prompts exact, and says by what. A quick check asks no prompt of full length, so that only a tokenizer
// can tell.
func (c *checker) fit(ctx context.Context) {
	if c.job.Prompts.Workload == prompt.Dataset {
		return
	}
	if means, by, _ := c.job.Means(); means == engine.ByTokenizer || means == engine.ByUsage {
		c.line("tokens", "gets the prompts that are made exact on %s", by)
		return
	}
	failed, err := c.job.Calibrate(ctx, c.place, c.Quick)
	off, known := c.job.Off()
	switch {
	case errors.Is(err, probe.ErrTooLong): // a probe will tell, or the context is known by now
		c.line("warning", "the prompt is %v", err)
	case errors.Is(err, engine.ErrNoTokenizer):
		c.line("tokens", "no tokenizer route: requests with short answers, recorded nowhere, make the length "+
			"exact before the first probe")
	case err != nil:
		c.line("warning", "ask the tokenizer: %v", err)
	case failed != nil:
		c.find(Finding{Step: "warning", Text: "the prompts could not be made exact: " + failed.Failure(),
			Hint: failed.Hint()})
	case known && off == 0:
		c.line("tokens", "%s", c.job.LengthLine(c.place))
	default:
		c.line("warning", "%s", c.job.LengthLine(c.place))
	}
}

// frames says what is known of the tokens in each frame of an answer.
var frames = map[probe.Source]string{
	probe.FromUsage:   "each tells how many (usage)",
	probe.FromIDs:     "each tells how many (token ids)",
	probe.FromTotal:   "one in each, since there are as many",
	probe.FromNothing: "not all tell how many they carry, so there is no ITL",
}

func (c *checker) ask(ctx context.Context) bool {
	r := c.member.Probe(ctx, probe.Question{Ask: wire.Ask{
		Prompt: "Words: time year people way day man thing woman life child world school", MaxTokens: engine.ShortAnswer, CacheSalt: "prober-check",
	}})
	if r.Outcome != probe.OK {
		return c.fail("ask a short question", r)
	}
	if c.member.Capabilities().Server.Loaded != "" { // the model is in memory now, and its context known
		_, _ = c.member.Discover(ctx) // it was discovered before
	}
	known := c.member.Capabilities()
	c.line("answer", "%s of %d tokens in %s: %s",
		countOf(r.Usage.Generated()), engine.ShortAnswer, format.Count(len(r.Tokens), "frame"), frames[r.Source])
	for _, a := range known.Abilities() {
		source := " (by its type)"
		switch {
		case a.Claim == wire.Unknown:
			source = ""
		case a.Shown:
			source = " (shown)"
		}
		c.find(Finding{Step: "supports", Name: a.Name, Text: string(a.Claim) + source})
	}
	for _, note := range engine.Notes(known) {
		c.line("note", "%s", note)
	}
	return true
}

// full sends probes as long as configured until the prompt's length is exact, and compares the last one's time with the plan.
func (c *checker) full(ctx context.Context) bool {
	results, _, skipped := c.job.Ask(ctx, c.place, c.place+1)
	if len(results) == 0 {
		c.found.Objectives = c.Judge(c.target.Name)
		c.line("warning", "no probe of full length was sent: %v", skipped)
		return true
	}
	r := results[0]
	if r.Outcome != probe.OK {
		c.fail("probe of full length", r)
		c.fits() // the refusal may have told the context
		return false
	}
	c.found.Objectives = c.Judge(r.Target, r)
	ttft, _ := r.TTFT()
	c.took = r.Elapsed
	c.line("probe", "%s tokens of prompt, %s of answer: TTFT %s, %s in all", countOf(r.Usage.Prompt),
		countOf(r.Usage.Generated()), format.Duration(ttft), format.Duration(c.took))
	for _, warning := range r.Warnings {
		c.line("warning", "%v", warning)
	}
	c.line("warning", "%s", c.job.Skips(c.target, c.took))
	return true
}

func (c *checker) plan() {
	t, o := c.target, c.job.Prompts
	lengths := format.Grouped(o.Tokens) + " tokens"
	switch o.Workload {
	case prompt.Dataset:
		lengths = fmt.Sprintf("their own lengths (%s words on average)", format.Grouped(o.Mean()))
	case prompt.Sessions:
		lengths = fmt.Sprintf("%s and more (%s on average over %d rounds)", lengths, format.Grouped(o.Mean()), o.Rounds)
	}
	c.found.TokensPerDay = c.job.TokensPerDay(t, c.took)
	unlimited := t
	unlimited.TokenBudgetPerDay = 0
	perDay := c.job.TokensPerDay(unlimited, c.took)
	c.line("plan", "%s prompts of %s, answers of %d, every %s (%s): %s a day",
		t.Prompt, lengths, t.MaxTokens, format.Short(c.job.Plan.Interval.Seconds()), t.Arrival, cost(perDay, c.took > 0))
	if t.TokenBudgetPerDay > 0 {
		end := cmp.Or(t.BudgetEnd(perDay, o.Mean()+t.MaxTokens), "the budget lasts all day")
		c.line("plan", "at most %s tokens a day, by its budget: %s", format.Grouped(t.TokenBudgetPerDay), end)
	}
}

// cost writes so many tokens: "up to" them unless probes were measured, since else the slots that are skipped are not known.
func cost(tokens int, measured bool) string {
	text := format.Grouped(tokens) + " tokens"
	if !measured {
		return "up to " + text
	}
	return text
}

func countOf(tokens wire.Count) string {
	if !tokens.Known {
		return "uncounted"
	}
	return format.Grouped(tokens.N)
}
