package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/prompt"
)

// The verdicts about a target, in the order of the table.
const (
	misconfigured = iota // it is not checked
	failed
	missed  // it passed, and an objective was missed
	warning // it passed, with a warning
	passed
	disabled // it is not checked
)

// A summary is a target of the table, with its problems, which stand below.
type summary struct {
	row
	rank    int    // by its verdict
	heading string // of its problems
	lines   string // its problems
}

// showProgress shows which target is checked now, on a terminal.
func (c *Check) showProgress(n, total int, name string) {
	if !c.Table || !format.IsTerminal(c.Progress) {
		return
	}
	text := fmt.Sprintf("checking %d of %d: %s", n, total, name)
	fmt.Fprint(c.Progress, clearLine+format.Shorten(text, format.TerminalWidth(c.Progress)-1))
}

// clearLine removes the progress from its line.
const clearLine = "\r\x1b[K"

// writeFleet writes the table, the problems of its targets, and how many have which verdict.
func (c *Check) writeFleet() {
	if format.IsTerminal(c.Progress) {
		fmt.Fprint(c.Progress, clearLine)
	}
	summaries := c.summaries()
	var rows []row
	for _, s := range summaries {
		rows = append(rows, s.row)
	}
	isTerminal := format.IsTerminal(c.Out)
	width := format.TableWidth(c.Out)
	if isTerminal {
		width = format.TerminalWidth(c.Out) // which may be less
	}
	fmt.Fprintf(c.Out, "%s\n", table(rows, width, isTerminal))
	for _, block := range blocks(summaries) {
		fmt.Fprintf(c.Out, "%s\n", block)
	}
	fmt.Fprint(c.Out, format.Wrap("", tally(summaries), c.textWidth()), "details of each: --verbose\n")
}

// summaries returns one of each target, also of those that are not checked. Those with problems come first.
func (c *Check) summaries() (all []summary) {
	for _, r := range c.Rejected {
		s := summary{row: row{name: r.Name, verdict: "bad setting"}, rank: misconfigured, heading: r.Name}
		for _, p := range r.Problems {
			s.lines += c.lines("SETTING", Finding{Text: strings.TrimPrefix(p.Place+": "+p.Text, ": "), Hint: p.Hint})
		}
		all = append(all, s)
	}
	for _, t := range c.Targets {
		all = append(all, t.summary)
	}
	for _, name := range c.Disabled {
		all = append(all, summary{row: row{name: name, verdict: "disabled"}, rank: disabled})
	}
	slices.SortStableFunc(all, func(a, b summary) int { return cmp.Compare(a.rank, b.rank) })
	return all
}

// blocks returns the problems of targets. Targets with the same problems share a block.
func blocks(summaries []summary) (all []string) {
	var problems []string // of the blocks
	headings := map[string][]string{}
	for _, s := range summaries {
		if s.lines == "" {
			continue
		}
		if headings[s.lines] == nil {
			problems = append(problems, s.lines)
		}
		headings[s.lines] = append(headings[s.lines], s.heading)
	}
	for _, lines := range problems {
		all = append(all, strings.Join(headings[lines], "\n")+"\n"+lines)
	}
	return all
}

// tally says how many targets have which verdict.
func tally(summaries []summary) string {
	var count [disabled + 1]int
	for _, s := range summaries {
		count[s.rank]++
	}
	var parts []string
	for rank, text := range []string{
		misconfigured: "with a bad setting", failed: "failed", missed: "missed an objective", warning: "with a warning",
		passed: "ok", disabled: "disabled",
	} {
		if count[rank] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[rank], text))
		}
	}
	return format.Count(len(summaries), "target") + ": " + strings.Join(parts, ", ")
}

// summarize fills in the line of the table and the problems of the target.
func (c *checker) summarize() {
	known := c.member.Knowledge()
	s := &c.found.summary
	s.heading = c.target.Name + gutter + c.target.URL
	s.row = row{
		name:    c.target.Name,
		server:  known.Type.Name,
		version: known.Version,
		prompt:  c.promptCell(),
		answer:  c.answerCell(),
		cost:    format.Grouped(c.found.TokensPerDay),
	}
	if c.probeTime == 0 {
		s.cost = "≤" + s.cost
	}
	wasReached := slices.ContainsFunc(c.found.Findings, func(f Finding) bool { return f.Step == "server" })
	if s.server == "" && wasReached {
		s.server = "unknown"
	}
	s.rank, s.verdict = passed, "ok"
	for _, f := range c.found.Findings {
		if f.Step == "failed" || f.Step == "warning" {
			s.lines += c.check.lines(f.label(), f)
			s.worsen(warning, "warning")
		}
	}
	for _, a := range c.found.Objectives {
		switch {
		case a.Judged == 0:
			s.lines += c.check.lines("warning", Finding{Text: "objective " + a.Objective + " is not judged: there is no sample"})
			s.worsen(warning, "warning")
		case a.Missed():
			text := fmt.Sprintf("objective %s: %s", a.Objective, format.Seconds(float64(a.Worst)))
			s.lines += c.check.lines("MISSED", Finding{Text: text})
			s.worsen(missed, "missed")
		}
	}
	if !c.found.Passed {
		s.worsen(failed, c.failure)
	}
}

// worsen changes the verdict to another one, unless it is worse already.
func (s *summary) worsen(rank int, verdict string) {
	if rank < s.rank {
		s.rank, s.verdict = rank, verdict
	}
}

// promptCell says how exact the prompts are.
func (c *checker) promptCell() string {
	off, known := c.job.Off()
	method, by, _ := c.job.CountedBy()
	counted := c.member.Knowledge().Prompt
	switch {
	case c.job.Prompts.Workload == prompt.Dataset:
		return "own"
	case method == engine.ByEstimate:
		return "about"
	case !known:
		return ""
	case by != c.target.Name && c.probeTime > 0 && counted.Known:
		off = counted.N - c.target.PromptTokens
	}
	if off != 0 {
		return fmt.Sprintf("%+d", off)
	}
	return "exact"
}

// answerCell says how many tokens the last answer had, and how long it took, if no step failed.
func (c *checker) answerCell() string {
	if c.last == nil || !c.found.Passed {
		return ""
	}
	took := format.Duration(c.last.Elapsed)
	tokens := c.last.Usage.Generated()
	if !tokens.Known {
		return took
	}
	return format.Grouped(tokens.N) + " in " + took
}
