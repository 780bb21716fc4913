// Package check finds out, for prober check, what targets are and whether they can do what is planned for them.
//
// What comes in are the jobs that the engine would run. What goes out is a [Check]: findings about each target. They
// are written as lines while they are found, or as a table of all targets at the end, or as one JSON document. A target
// passes if it can be reached, its context is long enough, and it answers a short question and a probe of full length.
//
// Start with Check.Run and checker.run; the steps of the latter stand in checker.go in their order. The table stands in
// table.go, and what is below it in fleet.go.
package check

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// A Check is what was found out. It is the JSON document.
type Check struct {
	Out      io.Writer         `json:"-"` // gets a line for each finding, or the table
	Progress io.Writer         `json:"-"` // shows which target is checked now, if it is a terminal
	Quick    bool              `json:"-"` // send no probe of full length
	Table    bool              `json:"-"` // write a line for each target instead of all findings
	Rejected []config.Rejected `json:"-"` // the targets that are not checked because of their settings; for the table

	// Judge says and returns how the probes of full length met the objectives.
	Judge func(target string, results ...*probe.Result) []report.Attainment `json:"-"`

	Passed       bool           `json:"passed"`
	Interrupted  bool           `json:"interrupted,omitempty"` // before all targets were checked, so it did not pass
	Problems     usage.Problems `json:"problems,omitempty"`    // of the configuration; the other targets are checked
	Targets      []*Target      `json:"targets,omitempty"`
	Disabled     []string       `json:"disabled,omitempty"` // names of targets that are not checked, and cost nothing
	TokensPerDay int            `json:"tokens_per_day"`     // at most
}

// A Target is one that was checked.
type Target struct {
	Name         string    `json:"name"`
	URL          string    `json:"url"`
	Passed       bool      `json:"passed"`
	TokensPerDay int       `json:"tokens_per_day"` // at most
	Findings     []Finding `json:"findings"`

	Objectives []report.Attainment `json:"objectives,omitempty"` // of the probe of full length

	summary summary
}

// A Finding is the outcome of one step.
type Finding struct {
	Step string `json:"step"`           // failed, warning, server, tokens, answer, supports, note, probe or plan
	Name string `json:"name,omitempty"` // of what the server supports
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"` // what to do
}

// Run checks every target of jobs that is enabled, until ctx is done. A target whose check was interrupted is not among
// the results, because nothing failed there.
func (c *Check) Run(ctx context.Context, jobs []*engine.Job) {
	c.Passed = len(c.Problems) == 0
	allMeasured := true
	total := countEnabled(jobs)
	for _, j := range jobs {
		j.IgnorePauses()
		for i, t := range j.Targets {
			if ctx.Err() != nil {
				break
			}
			if !t.Enabled {
				c.Disabled = append(c.Disabled, t.Name)
				c.printf("%s  %s\n%s\n", t.Name, t.URL, c.wrap("disabled", "it is not probed, and not checked"))
				continue
			}
			c.showProgress(len(c.Targets)+1, total, t.Name)
			c.printf("%s  %s\n", t.Name, t.URL)
			one := checker{
				check: c, found: &Target{Name: t.Name, URL: t.URL},
				job: j, place: i, target: t, member: j.Members[i],
			}
			one.found.Passed = one.run(ctx)
			if ctx.Err() != nil {
				break
			}
			one.plan()
			one.summarize()
			c.Targets = append(c.Targets, one.found)
			c.Passed = c.Passed && one.found.Passed
			c.TokensPerDay += one.found.TokensPerDay
			allMeasured = allMeasured && one.probeTime > 0
			c.printf("\n")
		}
	}
	if c.Table {
		c.writeFleet()
	}
	if len(c.Targets) < total {
		c.Interrupted, c.Passed = true, false
		fmt.Fprintf(c.Out, "interrupted: %d of %s checked\n", len(c.Targets), format.Count(total, "target"))
		return
	}
	fmt.Fprintf(c.Out, "in all %s a day\n", dailyCost(c.TokensPerDay, allMeasured))
}

// Count returns how many targets jobs have.
func Count(jobs []*engine.Job) (targets int) {
	for _, j := range jobs {
		targets += len(j.Targets)
	}
	return targets
}

// countEnabled returns how many targets of jobs are enabled.
func countEnabled(jobs []*engine.Job) (targets int) {
	for _, j := range jobs {
		for _, t := range j.Targets {
			if t.Enabled {
				targets++
			}
		}
	}
	return targets
}

// printf writes a line of the findings, unless there is a table in place of them.
func (c *Check) printf(line string, args ...any) {
	if !c.Table {
		fmt.Fprintf(c.Out, line, args...)
	}
}

// add adds a finding, and writes it. It does nothing if the finding has no text.
func (c *checker) add(f Finding) {
	if f.Text == "" {
		return
	}
	label := f.label()
	if f.Step == "supports" && c.lastStep() == "supports" {
		label = "" // it stands before the first of them
	}
	c.found.Findings = append(c.found.Findings, f)
	c.check.printf("%s", c.check.lines(label, f))
}

// label returns what stands before f.
func (f Finding) label() string {
	if f.Step == "failed" {
		return "FAILED"
	}
	return f.Step
}

// lines returns the lines of a finding, which begin with a label.
func (c *Check) lines(label string, f Finding) string {
	text := f.Text
	if f.Name != "" {
		text = strings.ReplaceAll(f.Name, "_", " ") + ": " + f.Text
	}
	all := c.wrap(label, format.Clean(text)) // it may have a server's words
	if f.Hint != "" {
		all += c.wrap("", f.Hint)
	}
	return all
}

// wrap returns the lines of a text behind a label.
func (c *Check) wrap(label, text string) string {
	return format.Wrap(fmt.Sprintf("  %-8s ", label), text, c.textWidth())
}

// textWidth returns the width of lines of text. They are wrapped only on a terminal, so that grep finds them whole.
func (c *Check) textWidth() int {
	const widest = 120 // columns; longer lines are hard to read
	if !format.IsTerminal(c.Out) {
		return math.MaxInt
	}
	return min(format.TerminalWidth(c.Out), widest)
}

// lastStep returns the step of the finding before. It is empty if there is none.
func (c *checker) lastStep() string {
	if len(c.found.Findings) == 0 {
		return ""
	}
	return c.found.Findings[len(c.found.Findings)-1].Step
}

// addText adds a finding without name and hint.
func (c *checker) addText(step, text string, args ...any) {
	c.add(Finding{Step: step, Text: fmt.Sprintf(text, args...)})
}

// addFailure adds how a step failed, unless it was only interrupted.
func (c *checker) addFailure(step string, r *probe.Result) {
	if r.Outcome == probe.Canceled && r.Stack == nil {
		return
	}
	c.failure = string(r.Outcome)
	c.add(Finding{Step: "failed", Text: step + ": " + report.Failure(r), Hint: report.Hint(r, c.target.Places)})
}
