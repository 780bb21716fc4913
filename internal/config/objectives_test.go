package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// TestObjectivesOfFlags holds that they replace the configured ones, that their goals need not page, and that each is
// read again from the text that it is shown as.
func TestObjectivesOfFlags(t *testing.T) {
	for text, want := range map[string][]probe.Objective{
		"ttft<2s@95%":                {{Name: "ttft", Signal: "ttft", Limit: 2 * time.Second, Goal: 0.95}},
		"max_gap = 500ms @ 99.9999%": {{Name: "max_gap", Signal: "max_gap", Limit: time.Second / 2, Goal: 0.999999}},
		"tpot<1m30s":                 {{Name: "tpot", Signal: "tpot", Limit: 90 * time.Second, Goal: 0.99}},
		"availability@0.5":           {{Name: "availability", Signal: "availability", Goal: 0.5}},
		"e2el<9s@90%,ttft<1s@90%,e2el<1s@50%": {
			{Name: "e2el", Signal: "e2el", Limit: 9 * time.Second, Goal: 0.9},
			{Name: "ttft", Signal: "ttft", Limit: time.Second, Goal: 0.9},
			{Name: "e2el_3", Signal: "e2el", Limit: time.Second, Goal: 0.5},
		},
	} {
		o := Options{Environ: withTarget("OBJECTIVES_0_NAME=configured"), Objectives: strings.Split(text, ",")}
		target := load(t, o).Targets[0]
		if diff := cmp.Diff(want, target.GivenObjectives) + cmp.Diff(want, target.Objectives); diff != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
		shown := target.GivenObjectives[0].String()
		again := load(t, Options{Environ: withTarget(), Objectives: []string{shown}})
		if diff := cmp.Diff(want[:1], again.Targets[0].GivenObjectives); diff != "" {
			t.Errorf("%s is shown as %s: -want +got\n%s", text, shown, diff)
		}
	}
}

// TestRefusalsOfTargets holds that what a target says of refusals is in all its objectives, and in no other target's:
// its own ones, those that it shares, the default one, and those of flags.
func TestRefusalsOfTargets(t *testing.T) {
	const file = `
refusals: bad
targets:
- {url: http://shared}
- {url: http://own, objectives: [{signal: ttft, limit: 9s, goal: 0.9}]}
- {url: http://ignores, refusals: ignore}
`
	for name, test := range map[string]struct {
		variables []string
		flags     []string
		want      string
	}{
		"the default objective": {want: "[true] [true] [false]"},
		"shared objectives": {
			variables: []string{"OBJECTIVES_0_GOAL=0.9", "OBJECTIVES_1_NAME=second", "OBJECTIVES_1_GOAL=0.9"},
			want:      "[true true] [true] [false false]",
		},
		"objectives of flags": {flags: []string{"ttft<1s@50%"}, want: "[true] [true] [false]"},
		"a variable for all":  {variables: []string{"REFUSALS=ignore"}, want: "[false] [false] [false]"},
		"a variable for another": {
			variables: []string{"TARGETS_0_URL=http://env", "TARGETS_0_REFUSALS=ignore"},
			want:      "[false] [true] [true] [false]",
		},
	} {
		o := Options{
			Environ: environ(append(test.variables, "TARGETS_FILE=f.yaml")...), Objectives: test.flags,
			ReadFile: files(map[string]string{"f.yaml": file}),
		}
		var got []string
		for _, target := range load(t, o).Targets {
			var areBad []bool
			for _, objective := range target.Objectives {
				areBad = append(areBad, objective.RefusalsAreBad)
			}
			got = append(got, fmt.Sprint(areBad))
			if target.GivenObjectives != nil && !slices.Equal(target.GivenObjectives, target.Objectives) {
				t.Errorf("%s, target %s: the objectives that were given differ", name, target.Name)
			}
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestObjectivesOfTargets holds that a target has its own objectives in place of those of all, wherever either is
// written, that flags replace both, that its goals are judged by its own rate, and that those of all are judged by the
// targets that have them.
func TestObjectivesOfTargets(t *testing.T) {
	const file = `
objectives: [{signal: ttft, limit: 2s, goal: 0.999}]
targets:
- {url: http://all}
- {url: http://slow, qps: 0.01, objectives: &o [{signal: ttft, limit: 9s, goal: 0.9}, {name: up}]}
- {url: http://alias, objectives: *o}
- {url: http://empty, objectives: []}
`
	variables := environ("TARGETS_FILE=f.yaml", "TARGETS_0_URL=http://own",
		"TARGETS_0_OBJECTIVES_0_SIGNAL=e2el", "TARGETS_0_OBJECTIVES_0_LIMIT=20s", "TARGETS_0_OBJECTIVES_1_GOAL=0.9")
	ofAll := "ttft<2s@99.9%"
	for name, test := range map[string]struct {
		flags []string
		want  []string
	}{
		"configured": {want: []string{
			"e2el<20s@99% availability@90%", ofAll, "ttft<9s@90% up@99%", "ttft<9s@90% up@99%", ofAll,
		}},
		"flags": {flags: []string{"tpot<1s@50%"}, want: slices.Repeat([]string{"tpot<1s@50%"}, 5)},
	} {
		o := Options{Environ: variables, Objectives: test.flags, ReadFile: files(map[string]string{"f.yaml": file})}
		var got []string
		for _, target := range load(t, o).Targets {
			var titles []string
			for _, objective := range target.Objectives {
				titles = append(titles, objective.Title())
			}
			got = append(got, strings.Join(titles, " "))
			if diff := cmp.Diff(target.Objectives, target.GivenObjectives); diff != "" {
				t.Errorf("%s, target %s: not given: %s", name, target.Name, diff)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestObjectivesOfTargetsAreShown holds that what config show prints for the objectives of a target is read as the same
// again.
func TestObjectivesOfTargetsAreShown(t *testing.T) {
	o := withFile(`targets: [{url: http://a, objectives: [{name: up}, {signal: ttft, limit: 9s}]}, {url: http://b}]`)
	text, _, err := Effective(o)
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(text, "\ntargets:\n") // without what has only variables
	again := load(t, withFile("targets:\n"+shown))
	if diff := cmp.Diff(load(t, o).Targets[0].Objectives, again.Targets[0].Objectives); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, text)
	}
}

func TestMistakesInObjectivesOfFlags(t *testing.T) {
	for text, want := range map[string]string{
		"":                "not an objective; want a signal",
		"TTFT<2s":         "not an objective; want a signal",
		"ttft<2s@95%@":    "goal=\"95%@\": not a number; want a ratio",
		"ttfx<1s":         `signal="ttfx": unknown (did you mean "ttft"?)`,
		"ttft@95%":        "limit: not given; ttft needs a limit",
		"ttft<2":          "limit=\"2\": has no unit; want a duration with its unit",
		"ttft<-2s":        "limit=\"-2s\": must be at least 1us",
		"ttft<2s@100%":    "goal=\"1\": must be 0.001 to 0.999999",
		"availability<2s": "limit=\"2s\": availability has no limit",
	} {
		_, err := Load(Options{Environ: withTarget(), Objectives: []string{text}})
		want = "1 problem:\n  " + usage.FlagPlace("objective", text) + ": " + want
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestObjectivesThatNobodyWrote holds that the default objective is not among the given ones, and that a finite run keeps
// a goal that could not page.
func TestObjectivesThatNobodyWrote(t *testing.T) {
	if given := load(t, Options{Environ: withTarget()}).Targets[0].GivenObjectives; given != nil {
		t.Errorf("nobody wrote %v", given)
	}
	tooHigh := Options{Environ: withTarget("OBJECTIVES_0_GOAL=0.999999"), Finite: true}
	if given := load(t, tooHigh).Targets[0].GivenObjectives; len(given) != 1 {
		t.Errorf("a finite run has the objectives %v, want the one that was written", given)
	}
}

// TestGoalsThatCanPage holds the rule and its bounds: an hour must have three probes, and 14.4 times the budget of
// three probes an hour. What the hints suggest meets it, and little more would not.
func TestGoalsThatCanPage(t *testing.T) {
	const (
		threeAnHour = 3.0 / 3600
		highest     = 1 - 1e-9
	)
	for exponent := -4.0; exponent <= 3; exponent += 0.01 {
		qps := math.Pow(10, exponent)
		goal, ok := bestGoal(qps)
		if ok != (qps >= threeAnHour) {
			t.Errorf("%v probes per second: some goal can page: %t", qps, ok)
		}
		better := goal + (1-goal)/9
		if ok && (goal <= 0 || !canPage(qps, goal) || canPage(qps, better)) {
			t.Errorf("%v probes per second: %v cannot page, or %v can", qps, goal, better)
		}
	}
	if rate := leastRate(highest); !canPage(rate, highest) || canPage(rate*0.9, highest) {
		t.Errorf("%v probes per second are not the least for %v", rate, highest)
	}
	for goal, qps := range map[float64]float64{
		0.999: 3.0 / 51.84, 0.99: 3.0 / 518.4, 1 - 1/14.4: threeAnHour, 0.85: threeAnHour, 0.1: threeAnHour,
	} {
		if !canPage(qps, goal) || canPage(qps*0.999999, goal) {
			t.Errorf("%v is not the least rate for %v", qps, goal)
		}
	}
}

// TestDefaultGoalIsNoReasonNotToStart holds that a default goal which is too high for the rate is a warning with what
// to do, and one that a user wrote a problem.
func TestDefaultGoalIsNoReasonNotToStart(t *testing.T) {
	const warning = `objective "availability" (PROBER_OBJECTIVES_0_GOAL): the default goal of 0.99 is too high for ` +
		`target "one:8000" at %v probes per second: fewer than 3 bad probes an hour burn the error budget too fast, and ` +
		`the alert needs 3; want %s`
	const both = "a goal of at most 0.942, or at least 0.0058 probes per second"
	for environ, want := range map[string][]string{
		"QPS=0.0058": nil,
		"QPS=0.001":  {fmt.Sprintf(warning, 0.001, both)},
		"QPS=0.0001": {fmt.Sprintf(warning, 0.0001, "at least 0.0058 probes per second")},

		"QPS=0.001\nOBJECTIVES_0_GOAL=0.942": nil, // which the warning suggests
	} {
		if diff := cmp.Diff(want, load(t, Options{Environ: withTarget(environ)}).Warnings); diff != "" {
			t.Errorf("%s: -want +got\n%s", environ, diff)
		}
	}
	inFile := load(t, withFile("targets: [{url: http://one:8000, qps: 0.001}]")).Warnings
	if want := fmt.Sprintf(warning, 0.001, both); len(inFile) != 1 ||
		inFile[0] != strings.Replace(want, "PROBER_OBJECTIVES_0_GOAL", "goal in f.yaml", 1) {
		t.Errorf("with a targets file: %q", inFile)
	}
	if warnings := load(t, Options{Environ: withTarget("QPS=0.001"), Finite: true}).Warnings; warnings != nil {
		t.Errorf("a finite run: %v", warnings)
	}
	if _, err := Load(Options{Environ: withTarget("QPS=0.001\nOBJECTIVES_0_GOAL=0.99")}); err == nil {
		t.Error("a goal that a user wrote is not refused")
	}
}
