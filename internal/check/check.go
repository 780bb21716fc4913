// Package check finds out, for prober check, what targets are and whether they can do what is planned for them.
//
// What comes in are the jobs that the engine would run. What goes out is a [Check]: findings about each target, written
// as lines while they are found, and as one JSON document at the end. A target passes if it can be reached, its context
// is long enough, and it answers a short question and a probe of full length.
//
// Start with Check.Run and checker.run; the steps of the latter stand in checker.go in their order.
package check

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// A Check is what was found out. It is the JSON document.
type Check struct {
	Out   io.Writer `json:"-"` // gets a line for each finding
	Quick bool      `json:"-"` // send no probe of full length

	// Judge says and returns how the probes of full length met the objectives.
	Judge func(target string, results ...*probe.Result) []report.Attainment `json:"-"`

	Passed       bool           `json:"passed"`
	Problems     usage.Problems `json:"problems,omitempty"` // of the configuration; the other targets are checked
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

// A Finding is the outcome of one step.
type Finding struct {
	Step string `json:"step"`           // failed, warning, server, tokens, answer, supports, note, probe or plan
	Name string `json:"name,omitempty"` // of what the server supports
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"` // what to do
}

// Run checks every target of jobs.
func (c *Check) Run(ctx context.Context, jobs []*engine.Job) {
	c.Passed = len(c.Problems) == 0
	allMeasured := true
	for _, j := range jobs {
		j.Insist()
		for i, t := range j.Targets {
			fmt.Fprintf(c.Out, "%s  %s\n", t.Name, t.URL)
			one := checker{
				check: c, found: &Target{Name: t.Name, URL: t.URL},
				job: j, place: i, target: t, member: j.Members[i],
			}
			one.found.Passed = one.run(ctx)
			one.plan()
			c.Targets = append(c.Targets, one.found)
			c.Passed = c.Passed && one.found.Passed
			c.TokensPerDay += one.found.TokensPerDay
			allMeasured = allMeasured && one.probeTime > 0
			fmt.Fprintln(c.Out)
		}
	}
	fmt.Fprintf(c.Out, "in all %s a day\n", dailyCost(c.TokensPerDay, allMeasured))
}

// add adds a finding, and writes it. It does nothing if the finding has no text.
func (c *checker) add(f Finding) {
	if f.Text == "" {
		return
	}
	label := f.Step
	switch {
	case f.Step == "failed":
		label = "FAILED"
	case f.Step == "supports" && c.lastStep() == "supports":
		label = "" // it stands before the first of them
	}
	c.found.Findings = append(c.found.Findings, f)
	text := f.Text
	if f.Name != "" {
		text = strings.ReplaceAll(f.Name, "_", " ") + ": " + f.Text
	}
	c.write(label, text)
	if f.Hint != "" {
		c.write("", f.Hint)
	}
}

// write writes a line. It is wrapped only on a terminal, so that grep finds it whole.
func (c *checker) write(label, text string) {
	width := math.MaxInt
	if format.IsTerminal(c.check.Out) {
		width = format.TableWidth(c.check.Out)
	}
	fmt.Fprint(c.check.Out, format.Wrap(fmt.Sprintf("  %-8s ", label), text, width))
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

// addFailure adds how a step failed.
func (c *checker) addFailure(step string, r *probe.Result) {
	c.add(Finding{Step: "failed", Text: step + ": " + r.Failure(), Hint: r.Hint()})
}
