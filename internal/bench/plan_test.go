package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/schedule"
)

// TestWhatFlagsMean holds what each combination of flags means: the load of each step with its number of requests, and
// how many requests a target may have in flight.
func TestWhatFlagsMean(t *testing.T) {
	const noLimit = math.MaxInt
	for flags, want := range map[string]struct {
		steps    string
		inFlight int
	}{
		"":                                   {"0.1 QPS: 10", noLimit}, // the configured rate
		"--requests 7":                       {"0.1 QPS: 7", noLimit},
		"--qps 4":                            {"4 QPS: 10", noLimit},
		"--qps 4 --requests 7":               {"4 QPS: 7", noLimit},
		"--qps 4 --duration 1m":              {"4 QPS: all within 1m0s", noLimit},
		"--qps 4 --requests 7 --duration 1m": {"4 QPS: 7 within 1m0s", noLimit},
		"--qps 4 --concurrency 3":            {"4 QPS: 30", 3},
		"--qps 0.5,4":                        {"0.5 QPS: 10, 4 QPS: 10", noLimit},
		"--qps 0.5,4 --concurrency 3":        {"0.5 QPS: 30, 4 QPS: 30", 3},
		"--qps 0.5,4 --requests 7":           {"0.5 QPS: 7, 4 QPS: 7", noLimit},

		"--qps inf --requests 64":                     {"64 at once: 64", noLimit},
		"--qps inf --requests 64 --duration 1m":       {"64 at once: 64 within 1m0s", noLimit},
		"--qps inf --concurrency 4":                   {"concurrency 4: 40", 4},
		"--concurrency 4":                             {"concurrency 4: 40", 4},
		"--concurrency 4 --requests 100":              {"concurrency 4: 100", 4},
		"--concurrency 4 --duration 1m":               {"concurrency 4: all within 1m0s", 4},
		"--ladder 1,8":                                {"concurrency 1: 10, concurrency 8: 80", noLimit},
		"--ladder 1,8 --requests 50":                  {"concurrency 1: 50, concurrency 8: 50", noLimit},
		"--ladder 8 --duration 1m":                    {"concurrency 8: all within 1m0s", noLimit},
		"--qps inf --ladder 1,8":                      {"1 at once: 1, 8 at once: 8", noLimit},
		"--qps inf --ladder 1,8 --requests 50":        {"concurrency 1: 50, concurrency 8: 50", noLimit},
		"--qps inf --ladder 2 --duration 1m":          {"concurrency 2: all within 1m0s", noLimit},
		"--prompt-tokens 80,200 --requests 7":         {"0.1 QPS: 7", noLimit},
		"--concurrency 4 a=http://a b=http://b":       {"concurrency 4: 80", 4},
		"--ladder 1,2 a=http://a b=http://b":          {"concurrency 1: 21, concurrency 2: 42", noLimit},
		"--ladder 1,2 --requests 7 http://a http://b": {"concurrency 1: 7, concurrency 2: 7", noLimit},
	} {
		plan, err := newPlan(readFlags(t, flags))
		if err != nil {
			t.Errorf("%s: %v", flags, err)
			continue
		}
		var steps []string
		target := plan.Lengths[0].Targets[0]
		for _, load := range plan.Loads {
			load = load.For(schedule.Plan{Interval: target.Interval()})
			step := load.String() + ": all"
			if load.Requests > 0 {
				step = fmt.Sprintf("%s: %d", load, load.Requests)
			}
			if load.Limit > 0 {
				step += " within " + load.Limit.String()
			}
			steps = append(steps, step)
		}
		equal(t, flags+": steps", strings.Join(steps, ", "), want.steps)
		equal(t, flags+": in flight", target.MaxInFlight, want.inFlight)
		equal(t, flags+": longest pause after a rejection", target.BackoffLimit, time.Duration(0))
	}
}

// TestWhatFlagsDoNotMean holds what is said about flags that contradict each other, and about lists.
func TestWhatFlagsDoNotMean(t *testing.T) {
	for flags, want := range map[string]string{
		"--ladder 1,2 --qps 3": `--qps="3": a ladder has no rate: each of its steps is a closed loop; ` +
			"leave one of them out",
		"--ladder 1,2 --concurrency 2": `--concurrency="2": the steps of a ladder are its concurrency; leave it out`,
		"--qps inf":                    `--qps="inf": needs --requests or --concurrency; add one of them`,
		"--qps inf --duration 1m":      `--qps="inf": needs --requests or --concurrency; add one of them`,
		"--qps 1,fast": `--qps="1,fast": "fast" is no rate; ` +
			"want rates above 0, at most 1000, for example 0.5,1,2",
		"--qps 1,1001": `--qps="1,1001": "1001" is no rate; ` +
			"want rates above 0, at most 1000, for example 0.5,1,2",
		"--prompt-tokens 80,": `--prompt-tokens="80,": a length is missing; ` +
			"want lengths with commas between them, for example 80,10000",
	} {
		_, err := newPlan(readFlags(t, flags))
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", flags, err, want)
		}
	}
}

// readFlags reads flags, and URLs behind them, as the command does.
func readFlags(t *testing.T, text string) CommandLine {
	t.Helper()
	line := CommandLine{Settings: map[string]string{}}
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	flags.IntVar(&line.Requests, "requests", 0, "")
	flags.DurationVar(&line.Duration, "duration", 0, "")
	flags.IntVar(&line.Concurrency, "concurrency", 0, "")
	flags.IntSliceVar(&line.Ladder, "ladder", nil, "")
	qps := flags.String("qps", "", "")
	promptTokens := flags.String("prompt-tokens", "", "")
	if err := flags.Parse(strings.Fields(text)); err != nil {
		t.Fatal(err)
	}
	line.Changed = flags.Changed
	line.URLs = flags.Args()
	if len(line.URLs) == 0 {
		line.URLs = []string{"http://a"}
	}
	if flags.Changed("qps") {
		line.Settings["QPS"] = *qps
	}
	if flags.Changed("prompt-tokens") {
		line.Settings["PROMPT_TOKENS"] = *promptTokens
	}
	return line
}

// TestSettingsOfTheDocument holds that a document says what was asked for, with all values of lists.
func TestSettingsOfTheDocument(t *testing.T) {
	for flags, want := range map[string]string{
		"--prompt-tokens 80,200 --requests 7": "prompt_tokens=80, 200; qps=0.1; requests=7",
		"--qps 0.5,4 --duration 1m":           "duration=1m0s; prompt_tokens=21000; qps=0.5, 4",
		"--ladder 1,8":                        "ladder=1, 8; prompt_tokens=21000; qps=inf",
		"--concurrency 4":                     "concurrency=4; prompt_tokens=21000; qps=inf",
	} {
		plan, err := newPlan(readFlags(t, flags))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"concurrency", "duration", "ladder", "prompt_tokens", "qps", "requests"} {
			if value, isSet := plan.Settings[name]; isSet {
				got = append(got, name+"="+value)
			}
		}
		equal(t, flags, strings.Join(got, "; "), want)
	}
}

// TestURLsAreOneGroup holds that what is given by several URLs is compared, unless the user named groups.
func TestURLsAreOneGroup(t *testing.T) {
	for urls, want := range map[string]string{
		"http://a":          "a:80",
		"http://a http://b": "bench",
		"dns+http://a":      "bench",
	} {
		line := readFlags(t, urls)
		plan, err := newPlan(line)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, urls, plan.Lengths[0].Targets[0].Group, want)
		line.Settings["GROUP"] = "mine"
		plan, err = newPlan(line)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, urls+", with a group", plan.Lengths[0].Targets[0].Group, "mine")
	}
}

// TestIsPair holds which targets are compared so that a regression of one can be shown.
func TestIsPair(t *testing.T) {
	old, next := config.Target{Name: "old"}, config.Target{Name: "new"}
	old.Group, next.Group = "bench", "bench"
	alone, each := next, next
	alone.Group, each.EachAddress = "alone", true
	for name, test := range map[string]struct {
		targets []config.Target
		want    bool
	}{
		"two of one group":            {[]config.Target{old, next}, true},
		"two groups":                  {[]config.Target{old, alone}, false},
		"one that may become several": {[]config.Target{old, each}, false},
		"three":                       {slices.Repeat([]config.Target{old}, 3), false},
	} {
		equal(t, name, IsPair(test.targets), test.want)
	}
}

// TestGroupOfTheURLs holds that several URLs are compared with each other, unless the user named their groups.
func TestGroupOfTheURLs(t *testing.T) {
	for name, test := range map[string]struct {
		urls  []string
		group string // as the user gave it
		want  string
	}{
		"one URL":               {[]string{"http://a"}, "", "a:80"},
		"two URLs":              {[]string{"http://a", "http://b"}, "", "bench"},
		"each address of a URL": {[]string{"dns+http://a"}, "", "bench"},
		"two URLs of a group":   {[]string{"http://a", "http://b"}, "mine", "mine"},
	} {
		line := readFlags(t, "")
		line.URLs = test.urls
		if test.group != "" {
			line.Settings["GROUP"] = test.group
		}
		plan, err := newPlan(line)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		equal(t, name, plan.Lengths[0].Targets[0].Group, test.want)
	}
}

// TestEachPromptHasItsSteps holds that a bench measures one prompt of each target after the other, at the whole rate.
func TestEachPromptHasItsSteps(t *testing.T) {
	short, long := config.Prompt{Name: "short", Tokens: 80, Share: 3}, config.Prompt{Name: "long", Tokens: 2000, Share: 1}
	all := eachPrompt(&config.Config{Targets: []config.Target{
		{Name: "a", QPS: 4, Prompts: []config.Prompt{short, long}},
		{Name: "b", QPS: 2, Prompts: []config.Prompt{short}},
	}})
	var got []string
	for _, c := range all {
		for _, t := range c.Targets {
			got = append(got, fmt.Sprintf("%s: %s of %d tokens, %v QPS", t.Name, t.Prompts[0].Name, t.PromptTokens, t.QPS))
		}
	}
	want := []string{"a: short of 80 tokens, 4 QPS", "b: short of 80 tokens, 2 QPS", "a: long of 2000 tokens, 4 QPS"}
	if len(all) != 2 || !slices.Equal(got, want) {
		t.Errorf("%d lengths: %q, want %q", len(all), got, want)
	}
}
