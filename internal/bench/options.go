package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/usage"
)

// Options are what a bench was asked to do, apart from the settings of its targets. A zero field was not given.
type Options struct {
	Requests    int
	Duration    time.Duration
	Concurrency int
	Ladder      []int     // concurrency of each step
	Rates       []float64 // requests per second of each step
	Unpaced     bool      // requests do not begin by the clock

	Every  time.Duration // between intermediate results of a comparison; 0 for none
	Format string        // text, json or markdown
	Plot   string        // file of the page with plots; empty: none

	// requestsToCompare is how many requests of a worker comparisons need to show any difference; 0 if nothing is
	// compared.
	requestsToCompare int
}

// Loads returns the load of each step: of a ladder, of several rates, or of a single step, by the plan of a group
// unless it is unpaced.
func (o Options) Loads(plan schedule.Plan) []Load {
	var loads []Load
	for _, concurrency := range o.Ladder {
		allAtOnce := o.Unpaced && o.Requests == 0 && o.Duration == 0 // --qps inf
		if allAtOnce {
			loads = append(loads, Load{Requests: concurrency})
		} else {
			loads = append(loads, o.load(schedule.Plan{}, concurrency))
		}
	}
	for _, rate := range o.Rates {
		plan.Interval = time.Duration(float64(time.Second) / rate)
		loads = append(loads, o.load(plan, o.Concurrency))
	}
	if loads != nil {
		return loads
	}
	if o.Unpaced {
		plan = schedule.Plan{}
	}
	return []Load{o.load(plan, o.Concurrency)}
}

// load returns the load of one step. If nothing says how many requests it has, each worker makes ten, or as many as
// comparisons need and two to spare, because a request that fails has no pair.
func (o Options) load(plan schedule.Plan, concurrency int) Load {
	const defaultRequests = 10
	const spare = 2
	l := Load{Plan: plan, Requests: o.Requests, Limit: o.Duration, Concurrency: concurrency}
	if l.Requests == 0 && l.Limit == 0 {
		l.Requests = max(defaultRequests, o.requestsToCompare+spare) * max(1, concurrency)
	}
	return l
}

// readRates reads the rates of several steps: "0.5,1,2".
func (o *Options) readRates(list string) usage.Problems {
	const maxRate = 1000
	for text := range strings.SplitSeq(list, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		inRange := rate > 0 && rate <= maxRate
		if err != nil || !inRange {
			return usage.Problems{{
				Place: usage.FlagPlace("qps", list),
				Text:  fmt.Sprintf("%q is no rate", text),
				Hint:  "want rates above 0, at most 1000, for example 0.5,1,2",
			}}
		}
		o.Rates = append(o.Rates, rate)
	}
	return nil
}

// check returns what is wrong with the options. qps is the flag of that name.
func (o Options) check(changed func(flag string) bool, qps string) (problems usage.Problems) {
	reject := func(isWrong bool, flag string, value any, text, hint string) {
		if isWrong {
			problems.Add(usage.FlagPlace(flag, value), text, hint)
		}
	}
	const wantRequests = "want a number of requests, for example "
	const wantDuration = "want a duration with its unit, for example "
	reject(changed("requests") && o.Requests < 1, "requests", o.Requests,
		"must be at least 1", wantRequests+"100")
	reject(changed("duration") && o.Duration <= 0, "duration", o.Duration,
		"must be above 0", wantDuration+"5m")
	reject(changed("concurrency") && o.Concurrency < 1, "concurrency", o.Concurrency,
		"must be at least 1", wantRequests+"8")
	reject(o.Every < 0 || o.Every > 0 && o.Every < time.Second, "every", o.Every,
		"must be at least 1s, or 0 for none", wantDuration+"30s")
	if len(o.Ladder) > 0 {
		reject(slices.Min(o.Ladder) < 1, "ladder", strings.Join(o.ladderTexts(), ","),
			"each step must be at least 1", "want numbers of requests, for example 1,2,4,8")
		reject(qps != "" && qps != "inf", "qps", qps,
			"a ladder has no rate: each of its steps is a closed loop", "leave one of them out")
		reject(o.Concurrency > 0, "concurrency", o.Concurrency,
			"the steps of a ladder are its concurrency", "leave it out")
		return problems
	}
	reject(qps == "inf" && o.Concurrency == 0 && o.Requests == 0, "qps", qps,
		"needs --requests or --concurrency", "add one of them")
	return problems
}

// ladderTexts returns the steps of the ladder as texts.
func (o Options) ladderTexts() (list []string) {
	for _, concurrency := range o.Ladder {
		list = append(list, strconv.Itoa(concurrency))
	}
	return list
}

// unlimit makes the targets of c take the load that was asked for, even if it is too much for them.
func (o Options) unlimit(c *config.Config) {
	for i := range c.Targets {
		t := &c.Targets[i]
		t.BackoffLimit = 0
		t.MaxInFlight = o.Concurrency
		if o.Concurrency == 0 || len(o.Ladder) > 0 {
			t.MaxInFlight = math.MaxInt
		}
	}
}
