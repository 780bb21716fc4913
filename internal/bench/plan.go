package bench

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/usage"
)

// A CommandLine is what the user asked for. A zero field was not given.
type CommandLine struct {
	Requests    int           // of each target in a step
	Duration    time.Duration // in which the requests of a step begin
	Concurrency int           // requests of a target in flight
	Ladder      []int         // concurrency of each step

	Every  time.Duration // between intermediate results of a comparison; 0 for none
	Format string        // text, json or markdown
	Plot   string        // file of the page with plots; empty: none

	URLs    []string               // of the targets
	Changed func(flag string) bool // reports whether a flag was given

	// Settings are those of the targets, by their names as in [config.Options]. QPS and PROMPT_TOKENS may be lists, and
	// QPS may be "inf".
	Settings map[string]string

	// Load reads the configuration with these settings.
	Load func(settings map[string]string) (*config.Config, error)
}

// A Plan is what a bench does, validated.
type Plan struct {
	Lengths  []*config.Config  // one for each length and each prompt of the targets, which have one prompt in it
	Prompts  bool              // some target has several prompts
	Loads    []Load            // one for each step; [Load.For] makes them those of a group
	Every    time.Duration     // between intermediate results of a comparison; 0 for none
	Format   string            // text, json or markdown
	Plot     string            // file of the page with plots; empty: none
	Gate     report.Gate       // what makes the run fail; the caller sets it
	Settings map[string]string // what was asked for, by name; if targets or lengths differ in one, it has all values
}

// NewPlan returns the plan of a command line. All mistakes of the user are returned together, as [usage.Problems].
func NewPlan(line CommandLine) (*Plan, error) {
	plan := &Plan{Every: line.Every, Format: line.Format, Plot: line.Plot}
	rates, problems := line.rates()
	problems = append(problems, line.check()...)
	lengths, missing := line.promptLengths()
	problems = append(problems, missing...)
	for _, length := range lengths {
		c, err := line.Load(line.settings(length))
		wrong, isUsage := errors.AsType[usage.Problems](err)
		switch {
		case isUsage:
			problems = appendNew(problems, wrong)
		case err != nil && problems == nil:
			return nil, err
		case err == nil:
			byPrompt := eachPrompt(c)
			plan.Lengths = append(plan.Lengths, byPrompt...)
			plan.Prompts = len(byPrompt) > 1
		}
	}
	if problems != nil {
		return nil, problems
	}
	for _, c := range plan.Lengths {
		for i := range c.Targets { // they take what was asked for, even if it is too much for them
			c.Targets[i].BackoffLimit = 0
			c.Targets[i].MaxInFlight = cmp.Or(line.Concurrency, math.MaxInt)
		}
	}
	plan.Loads = line.loads(rates)
	plan.setDefaultSizes()
	plan.Settings = line.describe(plan, rates)
	return plan, nil
}

// eachPrompt returns a configuration for each prompt that the targets of c have: the first has all targets with their
// first prompt, and so on. A step has only one of them, at the whole rate: no number mixes two, and what two targets
// are compared by is the same prompt.
func eachPrompt(c *config.Config) (all []*config.Config) {
	for prompt := 0; ; prompt++ {
		one := *c
		one.Targets = nil
		for _, t := range c.Targets {
			if prompt < len(t.Prompts) {
				asked := t.OfPrompt(prompt)
				asked.QPS = t.QPS
				one.Targets = append(one.Targets, asked)
			}
		}
		if len(one.Targets) == 0 {
			return all
		}
		all = append(all, &one)
	}
}

// loads returns the load of each step:
//
//	no flags                     by the clock, at the configured rate
//	--qps X                      by the clock; to the configuration X is a setting of the targets
//	--qps X --concurrency N      by the clock; the targets skip what would be more than N in flight
//	--qps A,B                    a step by the clock for each of these rates
//	--qps inf                    all at once
//	--qps inf --concurrency N    a closed loop
//	--concurrency N              a closed loop
//	--ladder A,B                 a closed loop for each of these numbers
//	--qps inf --ladder A,B       that many at once; with --requests or --duration they are closed loops
//
// Each of them may have --requests and --duration. A load without either has no size yet.
func (line CommandLine) loads(rates []float64) []Load {
	qps := line.Settings["QPS"]
	isSized := line.Requests > 0 || line.Duration > 0
	load := Load{Requests: line.Requests, Limit: line.Duration, Concurrency: line.Concurrency}
	var steps []Load
	switch {
	case len(line.Ladder) > 0:
		for _, n := range line.Ladder {
			if qps == "inf" && !isSized {
				load.Requests = n
			} else {
				load.Concurrency = n
			}
			steps = append(steps, load)
		}
	case len(rates) > 0:
		for _, rate := range rates {
			load.ByTheClock = true
			load.Plan = schedule.Plan{Interval: time.Duration(float64(time.Second) / rate)}
			steps = append(steps, load)
		}
	case qps == "inf", qps == "" && line.Concurrency > 0:
		steps = []Load{load}
	default:
		load.ByTheClock = true
		steps = []Load{load}
	}
	return steps
}

// setDefaultSizes sets how many requests a step has if no flag says it. Each worker makes ten. In a comparison each
// makes twelve more than the confidence of its intervals needs at least, because with ten pairs it finds only large
// differences (docs/bench.md), and a request that fails has no pair.
func (p *Plan) setDefaultSizes() {
	requests := 10
	comparisons := p.comparisons()
	if comparisons > 0 {
		requests = report.PairsNeeded(comparisons) + 12
	}
	for i, load := range p.Loads {
		if load.Requests == 0 && load.Limit == 0 {
			p.Loads[i].Requests = requests * max(1, load.Concurrency)
		}
	}
}

// comparisons returns how many comparisons the run makes, as far as that is known before names are resolved: in each
// step of each length, each target of a group except the first is compared with the first.
func (p *Plan) comparisons() (n int) {
	for _, c := range p.Lengths {
		members := map[string]int{}
		for _, t := range c.Targets {
			members[t.Group]++
		}
		for _, count := range members {
			n += count - 1
		}
	}
	return n * len(p.Loads)
}

// check returns what is wrong with the flags that only bench has.
func (line CommandLine) check() (problems usage.Problems) {
	reject := func(isWrong bool, flag string, value any, text, hint string) {
		if isWrong {
			problems.Add(usage.FlagPlace(flag, value), text, hint)
		}
	}
	const wantRequests = "want a number of requests, for example "
	const wantDuration = "want a duration with its unit, for example "
	reject(line.Changed("requests") && line.Requests < 1, "requests", line.Requests,
		"must be at least 1", wantRequests+"100")
	reject(line.Changed("duration") && line.Duration <= 0, "duration", line.Duration,
		"must be above 0", wantDuration+"5m")
	reject(line.Changed("concurrency") && line.Concurrency < 1, "concurrency", line.Concurrency,
		"must be at least 1", wantRequests+"8")
	reject(line.Every < 0 || line.Every > 0 && line.Every < time.Second, "every", line.Every,
		"must be at least 1s, or 0 for none", wantDuration+"30s")
	qps := line.Settings["QPS"]
	if len(line.Ladder) > 0 {
		reject(slices.Min(line.Ladder) < 1, "ladder", strings.Join(line.ladderTexts(), ","),
			"each step must be at least 1", "want numbers of requests, for example 1,2,4,8")
		reject(qps != "" && qps != "inf", "qps", qps,
			"a ladder has no rate: each of its steps is a closed loop", "leave one of them out")
		reject(line.Concurrency > 0, "concurrency", line.Concurrency,
			"the steps of a ladder are its concurrency", "leave it out")
		return problems
	}
	reject(qps == "inf" && line.Concurrency == 0 && line.Requests == 0, "qps", qps,
		"needs --requests or --concurrency", "add one of them")
	return problems
}

// ladderTexts returns the steps of the ladder as texts.
func (line CommandLine) ladderTexts() (list []string) {
	for _, concurrency := range line.Ladder {
		list = append(list, strconv.Itoa(concurrency))
	}
	return list
}

// rates reads the rates of several steps: "0.5,1,2". A single rate is a setting of the targets.
func (line CommandLine) rates() (rates []float64, problems usage.Problems) {
	const maxRate = 1000
	list := line.Settings["QPS"]
	if !strings.Contains(list, ",") {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		inRange := rate > 0 && rate <= maxRate
		if err != nil || !inRange {
			return nil, usage.Problems{{
				Place: usage.FlagPlace("qps", list),
				Text:  fmt.Sprintf("%q is no rate", text),
				Hint:  "want rates above 0, at most 1000, for example 0.5,1,2",
			}}
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// promptLengths returns the lengths of a list: "80,10000". Without a list there is one, which is empty.
func (line CommandLine) promptLengths() (lengths []string, problems usage.Problems) {
	list := line.Settings["PROMPT_TOKENS"]
	if list == "" {
		return []string{""}, nil
	}
	for length := range strings.SplitSeq(list, ",") {
		length = strings.TrimSpace(length)
		if length == "" {
			problems.Add(usage.FlagPlace("prompt-tokens", list), "a length is missing",
				"want lengths with commas between them, for example 80,10000")
			continue
		}
		lengths = append(lengths, length)
	}
	return lengths, problems
}

// settings returns the settings with which the configuration of one length of prompts is read. Targets that are given
// by several URLs are in one group, unless the user named one.
func (line CommandLine) settings(length string) map[string]string {
	settings := maps.Clone(line.Settings)
	if length != "" {
		settings["PROMPT_TOKENS"] = length
	}
	qps := settings["QPS"]
	if qps == "inf" || strings.Contains(qps, ",") { // the configuration knows only a single rate
		delete(settings, "QPS")
	}
	several := len(line.URLs) > 1 || strings.Contains(strings.Join(line.URLs, ""), "dns+http")
	_, named := settings["GROUP"]
	if several && !named {
		settings["GROUP"] = "bench"
	}
	return settings
}

// appendNew appends the problems that are not in the list yet: those of every length of prompts are said once.
func appendNew(list, more usage.Problems) usage.Problems {
	for _, problem := range more {
		if !slices.Contains(list, problem) {
			list = append(list, problem)
		}
	}
	return list
}

// describe returns the settings of a run as its document has them.
func (line CommandLine) describe(plan *Plan, rates []float64) map[string]string {
	values := map[string][]string{}
	add := func(name, value string) {
		if !slices.Contains(values[name], value) {
			values[name] = append(values[name], value)
		}
	}
	for _, c := range plan.Lengths {
		for _, t := range c.Targets {
			for _, o := range t.GivenObjectives {
				add("objective", o.String())
			}
			for name, value := range t.Values("bench") {
				add(name, value)
			}
		}
	}
	if !plan.Loads[0].ByTheClock {
		values["qps"] = []string{"inf"}
	} else if len(rates) > 0 {
		delete(values, "qps")
	}
	for _, rate := range rates {
		add("qps", strconv.FormatFloat(rate, 'g', -1, 64))
	}
	if len(line.Ladder) > 0 {
		values["ladder"] = line.ladderTexts()
	}
	if line.Requests != 0 {
		add("requests", strconv.Itoa(line.Requests))
	}
	if line.Concurrency != 0 {
		add("concurrency", strconv.Itoa(line.Concurrency))
	}
	if line.Duration != 0 {
		add("duration", line.Duration.String())
	}
	all := map[string]string{}
	for name, list := range values {
		all[name] = strings.Join(list, ", ")
	}
	return all
}
