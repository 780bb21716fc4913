package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/wire"
)

// A checker checks one target.
type checker struct {
	quick bool     // send no probe of full length
	turn  int      // among all targets, from 0
	lines *listing // in which it has this turn
	found *Target  // what was found so far

	job    *engine.Job
	place  int // of the target in the job
	target config.Target
	member *probe.Member
	server string // see serverOf

	prompts []promptCheck // what was found of each prompt of the target
	asked   int           // the prompt that findings are about; -1: the target as a whole
	last    *probe.Result // the last probe that was answered, short or of full length; nil without one
	failure string        // why the target failed, in one word; empty if it did not
	done    bool          // the target was checked, and nobody interrupted that
}

// A promptCheck is what was found of one prompt.
type promptCheck struct {
	tooLong bool          // for the server's context
	probe   *probe.Result // of full length, that was answered; nil: there was none
}

// check checks the target, unless it is disabled or ctx is done.
func (c *checker) check(ctx context.Context, shown *progress) {
	if ctx.Err() != nil {
		return
	}
	c.lines.add(c.turn, fmt.Sprintf("%s  %s\n", c.target.Name, c.target.URL))
	if !c.target.Enabled {
		c.lines.add(c.turn, labelled("disabled", "it is not probed, and not checked", c.lines.width)+"\n")
		return
	}
	defer shown.begin(c.target.Name)()
	c.found.Passed = c.runSteps(ctx)
	interrupted := ctx.Err() != nil
	if !interrupted {
		c.plan()
		c.found.row = c.tableRow()
		c.done = true
	}
	c.lines.add(c.turn, "\n")
}

// runSteps runs the steps up to the first one that fails. It reports whether all of them passed. A prompt that is too
// long for the server's context only ends the steps of that prompt.
func (c *checker) runSteps(ctx context.Context) (passed bool) {
	if !c.identify(ctx) || !c.ofEach(c.checkLengths) {
		return false
	}
	c.ofEach(c.warnOfPieces)
	if !c.ofEach(func() bool { return c.calibrate(ctx) }) || !c.askShortQuestion(ctx) {
		return false
	}
	if !c.ofEach(c.checkLengths) { // again: the context may be known only now
		return false
	}
	if !c.quick && !c.ofEach(func() bool { return c.probeFullLength(ctx) }) {
		return false
	}
	c.warnOfSkippedSlots()
	return !slices.ContainsFunc(c.prompts, func(p promptCheck) bool { return p.tooLong })
}

// ofEach takes a step for each prompt of the target that is not too long, up to the first one that fails. It reports
// whether none did, and whether a prompt is left.
func (c *checker) ofEach(step func() (passed bool)) (passed bool) {
	defer func() { c.asked = -1 }()
	isLeft := false
	for i := range c.prompts {
		if c.prompts[i].tooLong {
			continue
		}
		c.asked = i
		if !step() {
			return false
		}
		isLeft = isLeft || !c.prompts[i].tooLong
	}
	return isLeft
}

// ofPrompt returns the target with only the prompt that is asked.
func (c *checker) ofPrompt() config.Target { return c.target.OfPrompt(c.asked) }

// questions returns how long the prompt is that is asked.
func (c *checker) questions() *length.Questions { return c.job.Length.Prompts[c.asked] }

// identify asks the server what it is and which models it has.
func (c *checker) identify(ctx context.Context) (passed bool) {
	start := time.Now()
	models, err := c.member.Identify(ctx, 0)
	if err != nil {
		c.addFailure("ask for the models", c.member.UnsentResult(start, err))
		return false
	}
	known := c.member.Knowledge()
	server := cmp.Or(strings.TrimSpace(known.Type.Name+" "+known.Version), "a server of no known type")
	c.addText(Server, "%s through %s, %s", server, known.Dialect.Name, modelText(models, known.Model))
	if len(models) > 0 && !isListed(models, known.Model) {
		c.add(Finding{
			Step: Warning, Text: "the server lists no model of that name: " + listOfModels(models),
			Hint: "check the name (" + report.Places(c.target.Places).Of("model") + "); " +
				"without one the first of the list is probed",
		})
	}
	return true
}

// modelText says which model is probed, and whether the server lists it.
func modelText(models []wire.Model, model string) string {
	switch {
	case len(models) == 0:
		return "model " + model + " (the server lists none)"
	case !isListed(models, model):
		return "model " + model + " (not listed by the server)"
	case len(models) == 1:
		return "model " + model + " (the only one listed)"
	}
	return fmt.Sprintf("model %s (one of %d listed)", model, len(models))
}

// isListed reports whether a server serves a model of that name. Ollama lists it with a tag that may be left out.
func isListed(models []wire.Model, name string) bool {
	return slices.ContainsFunc(models, func(m wire.Model) bool { return m.ID == name || m.ID == name+":latest" })
}

// listOfModels returns the names of as many models as fit into a line.
func listOfModels(models []wire.Model) string {
	const maxLength = 200
	var names []string
	for _, m := range models {
		names = append(names, m.ID)
	}
	return "it has " + format.Shorten(format.Clean(format.List(names)), maxLength)
}

// checkLengths compares the configured lengths with the server's context, as far as that is known. A prompt that is too
// long is noted; the other prompts go on.
func (c *checker) checkLengths() (passed bool) {
	misfit := c.job.Lengths(c.target, c.asked).Misfit(c.member.Knowledge().Limits, c.ofPrompt().Places)
	if misfit != "" {
		c.addText(Failed, "%s", misfit)
		c.failure = "too long"
		c.prompts[c.asked].tooLong = true
	}
	return true
}

// warnOfPieces warns if the server generates answers of the configured length in pieces.
func (c *checker) warnOfPieces() (passed bool) {
	t := c.ofPrompt()
	text, hint := report.AnswerInPieces(t.MaxTokens, c.member.Knowledge().Type, t.Places)
	if text != "" {
		c.add(Finding{Step: Warning, Text: text, Hint: hint})
	}
	return true
}

// calibrate makes the length of the prompts exact, and says by what. A quick check asks only the tokenizer, because
// every other way needs prompts of full length. Prompts whose length nobody counts are a warning. A server that leaves
// such a prompt without an answer until the time of a probe is over fails: it would only hang again.
func (c *checker) calibrate(ctx context.Context) (passed bool) {
	q := c.questions()
	if q.Prompts.Workload == prompt.Dataset {
		return true
	}
	known := q.Snapshot(c.place)
	if known.Exact {
		c.addText(Tokens, "gets the prompts that were calibrated on %s", known.By)
		return true
	}
	var failed *probe.Result
	var err error
	if c.quick {
		err = q.CountByTokenizer(ctx, c.place)
	} else {
		failed = q.Count(ctx, c.place)
	}
	if ctx.Err() != nil { // interrupted
		return false
	}
	known = q.Snapshot(c.place)
	switch {
	case probe.ReasonOf(err) == probe.ReasonLongerThanContext: // a later probe fails, or the context is known by now
		c.addText(Warning, "the prompt is %v", err)
	case errors.Is(err, length.ErrNoTokenizer):
		c.addText(Tokens, "no tokenizer route: the length is made exact before the first probe, "+
			"by a few requests with short answers that are not recorded")
	case err != nil:
		c.addText(Warning, "ask the tokenizer: %v", err)
	case failed != nil && failed.Outcome == probe.Timeout:
		c.addFailure("make the length of prompts exact", failed)
		return false
	case failed != nil:
		c.add(Finding{
			Step: Warning,
			Text: "the prompts could not be made exact: " + report.Failure(failed),
			Hint: report.Hint(failed, c.ofPrompt().Places),
		})
	case known.Exact && known.Off == 0:
		c.addText(Tokens, "%s", report.LengthLine(known))
	default:
		c.addText(Warning, "%s", report.LengthLine(known))
	}
	return true
}

// tokensInFrames says, by the source of token counts, how many tokens each frame of an answer has.
var tokensInFrames = map[probe.Source]string{
	probe.FromUsage:   "each says how many (usage)",
	probe.FromIDs:     "each says how many (token ids)",
	probe.FromTotal:   "one in each, since there are as many",
	probe.FromNothing: "not all say how many they carry, so there is no ITL",
}

// askShortQuestion asks a question with a short answer, and says what the server supports.
func (c *checker) askShortQuestion(ctx context.Context) (passed bool) {
	r := c.member.Probe(ctx, probe.Question{Ask: wire.Ask{
		Prompt:    "Words: time year people way day man thing woman life child world school",
		MaxTokens: length.ShortAnswer,
		CacheSalt: "prober-check",
	}})
	if r.Outcome != probe.OK {
		c.addFailure("ask a short question", r)
		return false
	}
	c.last = r
	loadsOnDemand := c.member.Knowledge().Type.LoadedPath != ""
	if loadsOnDemand { // now the model is in memory, so its context can be found out
		_, _ = c.member.Identify(ctx, 0) // it has succeeded before
	}
	c.addText(Answer, "%s of %d tokens in %s: %s", tokenCount(r.Usage.Generated()), length.ShortAnswer,
		format.Count(len(r.Timeline.Frames), "frame"), tokensInFrames[r.Source])
	known := c.member.Knowledge()
	for _, a := range known.Abilities() {
		source := " (by its type)"
		switch {
		case a.Claim == wire.Unknown:
			source = ""
		case a.Shown:
			source = " (shown)"
		}
		c.add(Finding{Step: Supports, Name: a.Name, Text: string(a.Claim) + source})
	}
	for _, note := range report.ServerNotes(known, c.target.Places) {
		c.addText(Note, "%s", note)
	}
	if known.ExactOutput {
		c.addText(Note, "output length is enforced")
	}
	return true
}

// probeFullLength sends probes as long as configured until the length of their prompts is exact. It judges the last
// one, and compares its time with the plan.
func (c *checker) probeFullLength(ctx context.Context) (passed bool) {
	results, skipped := c.job.Ask(ctx, c.asked, c.place, c.place+1)
	if ctx.Err() != nil { // interrupted
		return false
	}
	if len(results) == 0 {
		c.judge()
		c.addText(Warning, "no probe of full length was sent: %v", skipped)
		return true
	}
	r := results[0]
	if r.Outcome != probe.OK {
		c.addFailure("probe of full length", r)
		c.checkLengths() // the refusal may have shown it
		return c.prompts[c.asked].tooLong
	}
	c.judge(r)
	c.prompts[c.asked].probe = r
	c.last = r
	ttft, _ := r.TTFT()
	c.addText(Probe, "%s tokens of prompt, %s of answer: TTFT %s, %s in all", tokenCount(r.Usage.Prompt),
		tokenCount(r.Usage.Generated()), format.Duration(ttft), format.Duration(r.Elapsed))
	for _, warning := range r.Warnings {
		c.addText(Warning, "%s", report.Warning(warning))
	}
	return true
}

// probeTime returns how long probes of full length take, on average over the prompts by their shares; 0 if one of them
// was not timed.
func (c *checker) probeTime() time.Duration {
	isUntimed := func(p promptCheck) bool { return p.probe == nil }
	if slices.ContainsFunc(c.prompts, isUntimed) {
		return 0
	}
	return time.Duration(c.target.MeanOfPrompts(func(i int) float64 { return float64(c.prompts[i].probe.Elapsed) }))
}

// judge says how far the probe of full length met the objectives that somebody gave. Without a probe they have no
// sample.
func (c *checker) judge(results ...*probe.Result) {
	t := c.ofPrompt()
	judged := report.SummarizeResults(c.target.Title(c.asked), t.Places, t.GivenObjectives, results...)
	for _, a := range judged.Objectives {
		c.found.judgements = append(c.found.judgements, judged.Attained(a))
	}
	c.found.Objectives = append(c.found.Objectives, judged.Objectives...)
}

// warnOfSkippedSlots warns if probes take so long that slots would be skipped.
func (c *checker) warnOfSkippedSlots() {
	tooSlow := report.SkippedSlots(c.probeTime(), c.job.Plan.Interval, c.target.MaxInFlight, c.target.Places)
	if tooSlow != "" {
		c.addText(Warning, "%s", tooSlow)
	}
}

// plan says what is sent how often, and how many tokens a day that takes: of each prompt, and in all.
func (c *checker) plan() {
	t, took := c.target, c.probeTime()
	c.found.TokensPerDay = c.job.TokensPerDay(t, took)
	unlimited := t
	unlimited.TokenBudgetPerDay = 0
	for i := range t.Prompts {
		c.asked = i
		p, prompts := c.ofPrompt(), c.questions().Prompts
		answers := fmt.Sprintf("answers of %d", p.MaxTokens)
		if prompts.Workload == prompt.Tool || prompts.Workload == prompt.JSON {
			answers = fmt.Sprintf("answers of at most %d", p.MaxTokens)
		}
		c.addText(Plan, "%s prompts of %s, %s, every %s (%s): %s a day",
			p.Prompt, promptLengths(prompts), answers, format.Short(p.Interval().Seconds()), p.Arrival,
			dailyCost(c.job.TokensPerDayOf(unlimited, i, took), took > 0))
	}
	c.asked = -1
	unlimitedPerDay := c.job.TokensPerDay(unlimited, took)
	if len(t.Prompts) > 1 {
		c.addText(Plan, "%d prompts in rotation, one every %s: %s a day", len(t.Prompts),
			format.Short(c.job.Plan.Interval.Seconds()), dailyCost(unlimitedPerDay, took > 0))
	}
	if t.TokenBudgetPerDay > 0 {
		perProbe := int(math.Round(c.job.TokensPerProbe(t)))
		end := cmp.Or(t.BudgetEnd(unlimitedPerDay, perProbe), "the budget lasts all day")
		c.addText(Plan, "at most %s tokens a day, by its budget: %s", format.Grouped(t.TokenBudgetPerDay), end)
	}
}

// add adds a finding, about the prompt that is asked if there are several, and writes it.
func (c *checker) add(f Finding) {
	if c.asked >= 0 && len(c.prompts) > 1 {
		f.Prompt = c.target.Prompts[c.asked].Name
	}
	label := f.label()
	before := len(c.found.Findings) - 1
	if f.Step == Supports && before >= 0 && c.found.Findings[before].Step == Supports {
		label = "" // it stands before the first of them
	}
	c.found.Findings = append(c.found.Findings, f)
	c.lines.add(c.turn, f.lines(label, c.lines.width))
}

// addText adds a finding without name and hint.
func (c *checker) addText(step Step, text string, args ...any) {
	c.add(Finding{Step: step, Text: fmt.Sprintf(text, args...)})
}

// addFailure adds that a request failed, unless it was only interrupted.
func (c *checker) addFailure(request string, r *probe.Result) {
	if r.Outcome == probe.Canceled && r.Stack == nil {
		return
	}
	c.failure = string(r.Outcome)
	places := c.target.Places
	if c.asked >= 0 {
		places = c.ofPrompt().Places
	}
	c.add(Finding{Step: Failed, Text: request + ": " + report.Failure(r), Hint: report.Hint(r, places)})
}

// promptLengths says how long prompts are.
func promptLengths(o prompt.Options) string {
	tokens := format.Grouped(o.Tokens) + " tokens"
	switch o.Workload {
	case prompt.Dataset:
		return fmt.Sprintf("their own lengths (%s words on average)", format.Grouped(o.Mean()))
	case prompt.Sessions:
		return fmt.Sprintf("%s and more (%s on average over %d rounds)", tokens, format.Grouped(o.Mean()), o.Rounds)
	}
	return tokens
}

// dailyCost writes a number of tokens. If no probe was timed it is an upper bound, because some slots may be skipped.
func dailyCost(tokens int, measured bool) string {
	text := format.Grouped(tokens) + " tokens"
	if !measured {
		return "up to " + text
	}
	return text
}

// tokenCount writes a number of tokens, or that it is not known.
func tokenCount(tokens wire.Count) string {
	if !tokens.Known {
		return "uncounted"
	}
	return format.Grouped(tokens.N)
}
