package bench

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/usage"
)

// A Plan is what a bench does, validated.
type Plan struct {
	Options
	Gate    report.Gate      // what makes the run fail; the caller sets it
	Lengths []*config.Config // one for each length of prompts
}

// A CommandLine is what the user asked for.
type CommandLine struct {
	Options  Options
	Settings map[string]string      // of the targets, by their names as in [config.Options]
	URLs     []string               // of the targets
	Changed  func(flag string) bool // reports whether a flag was given

	// Load reads the configuration with these settings.
	Load func(settings map[string]string) (*config.Config, error)
}

// Parse returns the plan of a command line. All mistakes of the user are returned together, as [usage.Problems].
func Parse(line CommandLine) (*Plan, error) {
	plan := &Plan{Options: line.Options}
	settings := maps.Clone(line.Settings)
	setGroup(settings, line.URLs)
	problems := plan.readQPS(settings)
	problems = append(problems, plan.check(line.Changed, line.Settings["QPS"])...)
	lengths, missing := promptLengths(settings["PROMPT_TOKENS"])
	problems = append(problems, missing...)
	for _, length := range lengths {
		settings["PROMPT_TOKENS"] = length
		if length == "" {
			delete(settings, "PROMPT_TOKENS")
		}
		c, err := line.Load(settings)
		wrong, ok := errors.AsType[usage.Problems](err)
		switch {
		case ok:
			problems = appendNew(problems, wrong)
		case err != nil && problems == nil:
			return nil, err
		case err == nil:
			plan.unlimit(c)
			plan.Lengths = append(plan.Lengths, c)
		}
	}
	if problems != nil {
		return nil, problems
	}
	comparisons := plan.comparisons()
	if comparisons > 0 {
		plan.requestsToCompare = report.PairsNeeded(comparisons)
	}
	return plan, nil
}

// readQPS reads the rate: a number, several, inf for no clock, or none. It leaves only a single number in the settings,
// because the configuration knows no other.
func (o *Options) readQPS(settings map[string]string) (problems usage.Problems) {
	qps := settings["QPS"]
	several := strings.Contains(qps, ",")
	if several {
		problems = o.readRates(qps)
	}
	if several || qps == "inf" {
		delete(settings, "QPS")
	}
	o.Unpaced = qps == "inf" || qps == "" && o.Concurrency > 0
	return problems
}

// setGroup puts targets that are given by several URLs into one group, unless the user named one.
func setGroup(settings map[string]string, urls []string) {
	several := len(urls) > 1 || strings.Contains(strings.Join(urls, ""), "dns+http")
	_, named := settings["GROUP"]
	if several && !named {
		settings["GROUP"] = "bench"
	}
}

// promptLengths returns the lengths of a list: "80,10000". Without a list there is one, which is not given.
func promptLengths(list string) (lengths []string, problems usage.Problems) {
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

// appendNew appends the problems that are not in the list yet: those of every length of prompts are said once.
func appendNew(list, more usage.Problems) usage.Problems {
	for _, problem := range more {
		if !slices.Contains(list, problem) {
			list = append(list, problem)
		}
	}
	return list
}

// IsPair reports whether targets are two of one group, whose comparison shows a regression. A target that stands for
// its addresses may become several.
func IsPair(targets []config.Target) bool {
	if len(targets) != 2 {
		return false
	}
	a, b := targets[0], targets[1]
	return a.Group == b.Group && !a.EachAddress && !b.EachAddress
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
	return n * len(p.Loads(schedule.Plan{}))
}

// settings returns the settings of the run by their names. If targets or lengths of prompts differ in one, it has all
// values.
func (p *Plan) settings() map[string]string {
	values := settingValues{}
	for _, c := range p.Lengths {
		values.addConfig(c)
	}
	if len(p.Ladder) > 0 {
		values["ladder"] = p.ladderTexts()
	}
	if p.Unpaced || len(p.Ladder) > 0 {
		values["qps"] = []string{"inf"}
	} else if p.Rates != nil {
		delete(values, "qps")
	}
	for _, rate := range p.Rates {
		values.add("qps", strconv.FormatFloat(rate, 'g', -1, 64))
	}
	if p.Requests != 0 {
		values.add("requests", strconv.Itoa(p.Requests))
	}
	if p.Concurrency != 0 {
		values.add("concurrency", strconv.Itoa(p.Concurrency))
	}
	if p.Duration != 0 {
		values.add("duration", fmt.Sprint(p.Duration))
	}
	all := map[string]string{}
	for name, list := range values {
		all[name] = strings.Join(list, ", ")
	}
	return all
}

// settingValues are the different values of each setting.
type settingValues map[string][]string

// addConfig adds the objectives of c, and the settings of its targets.
func (v settingValues) addConfig(c *config.Config) {
	for _, t := range c.Targets {
		for _, o := range t.GivenObjectives {
			v.add("objective", o.String())
		}
		for name, value := range t.Values("bench") {
			v.add(name, value)
		}
	}
}

// add adds a value, unless the setting has it already.
func (v settingValues) add(name, value string) {
	if !slices.Contains(v[name], value) {
		v[name] = append(v[name], value)
	}
}
