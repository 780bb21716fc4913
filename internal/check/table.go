package check

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
)

// A verdict is what the table says of a target in general. A lower one is worse.
type verdict int

const (
	verdictMisconfigured verdict = iota // it is not checked
	verdictFailed
	verdictMissed  // it passed, and an objective was missed
	verdictWarning // it passed, with a warning
	verdictOK
	verdictDisabled // it is not checked
)

// tallies are what the line below the table calls the verdicts.
var tallies = map[verdict]string{
	verdictMisconfigured: "with a bad setting",
	verdictFailed:        "failed",
	verdictMissed:        "missed an objective",
	verdictWarning:       "with a warning",
	verdictOK:            "ok",
	verdictDisabled:      "disabled",
}

// A row is what the table says about a target. An empty cell is not known.
type row struct {
	name   string
	server string // with its version
	prompt string // exact, or how it is not
	answer string // how many tokens in which time
	cost   string // tokens a day

	verdict verdict
	word    string // for the verdict

	heading  string    // of the problems below the table
	problems []problem // failures, warnings and missed objectives

	prompts []row // of a target with several: each with its name, how exact it is, its answer and its cost
}

// A problem is a finding below the table.
type problem struct {
	label   string
	finding Finding
}

// tableRow returns the line of the table, and the problems below it.
func (c *checker) tableRow() row {
	known := c.member.Knowledge()
	server := known.Type.Name
	wasReached := slices.ContainsFunc(c.found.Findings, func(f Finding) bool { return f.Step == Server })
	if server == "" && wasReached {
		server = "unknown"
	}
	r := row{
		name:    c.target.Name,
		server:  strings.TrimSpace(server + " " + known.Version),
		prompt:  c.promptCell(0),
		answer:  c.answerCell(c.last),
		cost:    c.costCell(c.found.TokensPerDay),
		verdict: verdictOK,
		word:    "ok",
		heading: c.target.Name + "  " + c.target.URL,
	}
	if len(c.prompts) > 1 {
		r.prompt = format.Count(len(c.prompts), "prompt")
		r.answer = ""
		for i, p := range c.prompts {
			line := row{name: "· " + c.target.Prompts[i].Name, prompt: c.promptCell(i), answer: c.answerCell(p.probe)}
			line.cost = c.costCell(c.job.TokensPerDayOf(c.target, i, c.probeTime()))
			if p.tooLong {
				line.word = "too long"
			}
			r.prompts = append(r.prompts, line)
		}
	}
	for _, f := range c.found.Findings {
		if f.Step == Failed || f.Step == Warning {
			r.problems = append(r.problems, problem{f.label(), f})
		}
	}
	missed := false
	for _, a := range c.found.Objectives {
		switch {
		case a.Judged == 0:
			text := "objective " + a.Objective + " is not judged: there is no sample"
			r.problems = append(r.problems, problem{"warning", Finding{Text: text}})
		case a.Missed():
			missed = true
			text := fmt.Sprintf("objective %s: %s", a.Objective, format.Seconds(float64(a.Worst)))
			r.problems = append(r.problems, problem{"MISSED", Finding{Text: text}})
		}
	}
	switch {
	case !c.found.Passed:
		r.verdict, r.word = verdictFailed, c.failure
	case missed:
		r.verdict, r.word = verdictMissed, "missed"
	case r.problems != nil:
		r.verdict, r.word = verdictWarning, "warning"
	}
	return r
}

// costCell writes the tokens of a day: at most so many if no probe was timed.
func (c *checker) costCell(tokensPerDay int) string {
	if c.probeTime() == 0 {
		return "≤" + format.Grouped(tokensPerDay)
	}
	return format.Grouped(tokensPerDay)
}

// promptCell says how exact a prompt is.
func (c *checker) promptCell(prompt int) string {
	known := c.job.Length.Prompts[prompt].Snapshot(c.place)
	switch {
	case known.Asked == 0:
		return "own"
	case known.Method == length.ByEstimate:
		return "about"
	case !known.Exact:
		return ""
	}
	off := known.Off
	if !known.ByItself && known.Counted.Known && c.prompts[prompt].probe != nil { // Off is by the count of another member
		off = known.Counted.N - known.Asked
	}
	if off == 0 {
		return "exact"
	}
	return fmt.Sprintf("%+d", off)
}

// answerCell says how many tokens an answer had, and how long it took, if no step failed.
func (c *checker) answerCell(r *probe.Result) string {
	if r == nil || !c.found.Passed {
		return ""
	}
	took := format.Duration(r.Elapsed)
	tokens := r.Usage.Generated()
	if !tokens.Known {
		return took
	}
	return format.Grouped(tokens.N) + " in " + took
}

// WriteTable writes a line for each target, those with problems first; then the problems, and how many targets have
// which verdict.
func (r *Report) WriteTable(w io.Writer) {
	rows := r.rows()
	width := lineWidth(w)
	fmt.Fprintf(w, "%s\n", tableOf(rows, width))
	for _, block := range blocks(rows, width) {
		fmt.Fprintf(w, "%s\n", block)
	}

	count := map[verdict]int{}
	for _, line := range rows {
		count[line.verdict]++
	}
	var parts []string
	for v := verdictMisconfigured; v <= verdictDisabled; v++ {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], tallies[v]))
		}
	}
	tally := format.Count(len(rows), "target") + ": " + strings.Join(parts, ", ")
	fmt.Fprint(w, format.Wrap("", tally, width), "details of each: --verbose\n", r.total())
}

// rows returns a row for each target, even if it is not checked, the worst first.
func (r *Report) rows() (all []row) {
	for _, t := range r.rejected {
		bad := row{name: t.Name, verdict: verdictMisconfigured, word: "bad setting", heading: t.Name}
		for _, p := range t.Problems {
			bad.problems = append(bad.problems, problem{"SETTING", Finding{Text: p.Located(), Hint: p.Hint}})
		}
		all = append(all, bad)
	}
	for _, t := range r.Targets {
		all = append(all, t.row)
	}
	for _, name := range r.Disabled {
		all = append(all, row{name: name, verdict: verdictDisabled, word: "disabled"})
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Compare(a.verdict, b.verdict) })
	return all
}

// tableOf returns rows below a head. Names are cut so that the lines fit into width, as far as that is possible.
func tableOf(rows []row, width int) string {
	const gutter = "  "
	cells := [][]string{{"target", "server", "prompt", "answer", "tokens a day", "verdict"}}
	for _, target := range rows {
		for _, r := range append([]row{target}, target.prompts...) {
			line := []string{r.name, r.server, r.prompt, r.answer, r.cost, r.word}
			for i, text := range line {
				line[i] = cmp.Or(format.Clean(text), "–") // a server chooses its version
			}
			cells = append(cells, line)
		}
	}
	isRight := []bool{false, false, false, true, true, false}
	padded := format.PadColumns(cells, isRight)
	excess := utf8.RuneCountInString(strings.Join(padded[0], gutter)) - width
	if excess > 0 {
		longest := utf8.RuneCountInString(padded[0][0])
		for _, line := range cells {
			line[0] = cutMiddle(line[0], longest-excess)
		}
		padded = format.PadColumns(cells, isRight)
	}
	var text strings.Builder
	for _, line := range padded {
		text.WriteString(strings.TrimRight(strings.Join(line, gutter), " ") + "\n")
	}
	return text.String()
}

// cutMiddle returns at most n characters of a name, and at least eight, without those in its middle: names of replicas
// differ at their end.
func cutMiddle(name string, n int) string {
	runes := []rune(name)
	n = max(n, 8)
	if len(runes) <= n {
		return name
	}
	tail := (n - 1) / 2
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// blocks returns the problems of targets. Targets with the same problems share a block.
func blocks(rows []row, width int) (all []string) {
	var texts []string // of the problems, in the order of the first target that has them
	headings := map[string][]string{}
	for _, r := range rows {
		if r.problems == nil {
			continue
		}
		var lines strings.Builder
		for _, p := range r.problems {
			lines.WriteString(p.finding.lines(p.label, width))
		}
		text := lines.String()
		if headings[text] == nil {
			texts = append(texts, text)
		}
		headings[text] = append(headings[text], r.heading)
	}
	for _, text := range texts {
		all = append(all, strings.Join(headings[text], "\n")+"\n"+text)
	}
	return all
}
