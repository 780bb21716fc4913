package bench

import (
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

// Options are what a bench was asked to do, but for the configuration. Zero means not given.
type Options struct {
	Requests    int
	Duration    time.Duration
	Concurrency int
	Ladder      []int     // concurrency of each step
	Rates       []float64 // requests per second of each step
	Unpaced     bool      // requests do not begin by the clock

	Every  time.Duration // between results of a comparison under way; 0 for none
	Format string        // text, json or markdown
	Plot   string        // file of the page with plots; empty: none

	needed int // requests in a step that comparisons need to show any difference; 0 if nothing is compared
}

// How many requests a worker of a step makes where nothing else is said: fewest, or as many as comparisons need and a
// few to spare, since a request that fails has no pair.
const (
	fewest = 10
	spare  = 2
)

// Loads are the steps: of a ladder, of several rates, or one by the plan of a group unless it has no clock.
func (o Options) Loads(plan schedule.Plan) []Load {
	step := func(plan schedule.Plan, concurrency int) Load {
		l := Load{Plan: plan, Requests: o.Requests, Limit: o.Duration, Concurrency: concurrency}
		if l.Requests == 0 && l.Limit == 0 { // nothing says how many requests there are
			l.Requests = max(fewest, o.needed+spare) * max(1, concurrency)
		}
		return l
	}
	var loads []Load
	for _, n := range o.Ladder {
		if o.Unpaced && o.Requests == 0 && o.Duration == 0 { // --qps inf: all at once
			loads = append(loads, Load{Requests: n})
			continue
		}
		loads = append(loads, step(schedule.Plan{}, n))
	}
	for _, rate := range o.Rates {
		plan.Interval = time.Duration(float64(time.Second) / rate)
		loads = append(loads, step(plan, o.Concurrency))
	}
	if o.Unpaced {
		plan = schedule.Plan{}
	}
	if loads == nil {
		loads = []Load{step(plan, o.Concurrency)}
	}
	return loads
}

// A Plan is what a bench does, validated.
type Plan struct {
	Options
	Gate    report.Gate      // what makes the run fail; the caller's to set
	Lengths []*config.Config // one for each length of a prompt
}

// Parse makes a plan of options and of settings, by their names as in [config.Options], for targets given as urls. changed
// reports whether a flag was given, load reads the configuration. What is wrong is returned as [usage.Problems].
func Parse(o Options, changed func(flag string) bool, settings map[string]string, urls []string, load func(settings map[string]string) (*config.Config, error)) (*Plan, error) {
	settings = maps.Clone(settings)
	qps := settings["QPS"]
	if qps == "inf" {
		delete(settings, "QPS")
	}
	var problems usage.Problems
	if strings.Contains(qps, ",") {
		problems = o.readRates(qps)
		delete(settings, "QPS")
	}
	o.Unpaced = qps == "inf" || qps == "" && o.Concurrency > 0
	problems = append(problems, o.check(changed, qps)...)
	several := len(urls) > 1 || strings.Contains(strings.Join(urls, ""), "dns+http")
	if _, grouped := settings["GROUP"]; several && !grouped {
		settings["GROUP"] = "bench"
	}
	p := &Plan{Options: o}
	lengths := settings["PROMPT_TOKENS"]
	for tokens := range strings.SplitSeq(lengths, ",") {
		if tokens = strings.TrimSpace(tokens); tokens == "" && lengths != "" {
			problems.Add(usage.FlagPlace("prompt-tokens", lengths), "a length is missing", "want lengths with commas between them, for example 80,10000")
			continue
		}
		if settings["PROMPT_TOKENS"] = tokens; tokens == "" {
			delete(settings, "PROMPT_TOKENS")
		}
		c, err := load(settings)
		if wrong, ok := errors.AsType[usage.Problems](err); ok {
			for _, w := range wrong {
				if !slices.Contains(problems, w) { // those of every length are said once
					problems = append(problems, w)
				}
			}
		} else if err != nil && problems == nil {
			return nil, err
		} else if err == nil {
			o.limit(c)
			p.Lengths = append(p.Lengths, c)
		}
	}
	if problems != nil {
		return nil, problems
	}
	if n := p.comparisons(); n > 0 {
		p.needed = report.PairsNeeded(n)
	}
	return p, nil
}

// comparisons is how many the run makes, as far as that is known before names are resolved: in each step of each
// length, each target of a group but the first with the first.
func (p *Plan) comparisons() (n int) {
	for _, c := range p.Lengths {
		members := map[string]int{}
		for _, t := range c.Targets {
			members[t.Group]++
		}
		for _, in := range members {
			n += in - 1
		}
	}
	return n * len(p.Loads(schedule.Plan{}))
}

func (o *Options) readRates(list string) usage.Problems {
	for text := range strings.SplitSeq(list, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(rate > 0 && rate <= 1000) {
			return usage.Problems{{Place: usage.FlagPlace("qps", list), Text: fmt.Sprintf("%q is no rate", text), Hint: "want rates above 0, at most 1000, for example 0.5,1,2"}}
		}
		o.Rates = append(o.Rates, rate)
	}
	return nil
}

// limit makes the targets take the load that was asked for, also where it is too much.
func (o Options) limit(c *config.Config) {
	for i := range c.Targets {
		t := &c.Targets[i]
		t.BackoffLimit = 0
		if t.MaxInFlight = o.Concurrency; o.Concurrency == 0 || len(o.Ladder) > 0 {
			t.MaxInFlight = math.MaxInt
		}
	}
}

func (o Options) check(changed func(flag string) bool, qps string) (problems usage.Problems) {
	ladder := len(o.Ladder) > 0
	wrong := func(is bool, flag string, value any, text, hint string) {
		if is {
			problems.Add(usage.FlagPlace(flag, value), text, hint)
		}
	}
	const least, requests = "must be at least 1", "want a number of requests, for example "
	const duration = "want a duration with its unit, for example "
	wrong(changed("requests") && o.Requests < 1, "requests", o.Requests, least, requests+"100")
	wrong(changed("duration") && o.Duration <= 0, "duration", o.Duration, "must be above 0", duration+"5m")
	wrong(changed("concurrency") && o.Concurrency < 1, "concurrency", o.Concurrency, least, requests+"8")
	wrong(o.Every < 0 || o.Every > 0 && o.Every < time.Second, "every", o.Every,
		"must be at least 1s, or 0 for none", duration+"30s")
	wrong(ladder && slices.Min(o.Ladder) < 1, "ladder", strings.Join(o.steps(), ","),
		"each step must be at least 1", "want numbers of requests, for example 1,2,4,8")
	wrong(ladder && qps != "" && qps != "inf", "qps", qps,
		"a ladder has no rate: each of its steps is a closed loop", "leave one of them out")
	wrong(ladder && o.Concurrency > 0, "concurrency", o.Concurrency, "the steps of a ladder are its concurrency", "leave it out")
	wrong(!ladder && qps == "inf" && o.Concurrency == 0 && o.Requests == 0, "qps", qps,
		"needs --requests or --concurrency", "add one of them")
	return problems
}

func (o Options) steps() (list []string) {
	for _, n := range o.Ladder {
		list = append(list, strconv.Itoa(n))
	}
	return list
}

// settings are those of the run, by their names; where targets or lengths of prompts differ, all values.
func (p *Plan) settings() map[string]string {
	values := map[string][]string{"ladder": p.steps()}
	add := func(name, value string) {
		if !slices.Contains(values[name], value) {
			values[name] = append(values[name], value)
		}
	}
	for _, c := range p.Lengths {
		for _, o := range c.Given {
			add("objective", o.String())
		}
		for _, t := range c.Targets {
			for name, value := range t.Values("bench") {
				add(name, value)
			}
		}
	}
	if p.Unpaced || len(p.Ladder) > 0 || p.Rates != nil {
		delete(values, "qps")
	}
	if p.Unpaced || len(p.Ladder) > 0 {
		add("qps", "inf")
	}
	for _, rate := range p.Rates {
		add("qps", strconv.FormatFloat(rate, 'g', -1, 64))
	}
	for name, value := range map[string]any{"requests": p.Requests, "concurrency": p.Concurrency, "duration": p.Duration} {
		if text := fmt.Sprint(value); text != "0" && text != "0s" {
			add(name, text)
		}
	}
	all := map[string]string{}
	for name, list := range values {
		if len(list) > 0 {
			all[name] = strings.Join(list, ", ")
		}
	}
	return all
}
