package config

import (
	"slices"

	"github.com/llm-prober/prober/internal/probe"
)

// Options are what [Load] works on. Load keeps none of it.
type Options struct {
	Environ map[string]string // only names that begin with PROBER_ are looked at; an empty value counts as not given
	// Overrides come from flags, by the name of a variable without prefix: PROMPT_TOKENS for
	// --prompt-tokens. They also beat the values of single targets. An empty one means the default.
	Overrides map[string]string
	URLs      []string                     // targets given as arguments; they replace the configured targets
	ReadFile  func(string) ([]byte, error) // reads the files that the configuration names; nil means [ReadFile]
	APIs      []string                     // names of the known dialects; "auto" is always allowed
	Servers   []string                     // names of the known server types; "auto" is always allowed
}

// A loader collects problems while the sources become a configuration.
type loader struct {
	Options
	schema
	targets  keys            // what may be said of one target
	entries  map[string]keys // what may be said of an entry of a list
	problems Problems
	warnings []string
	unknown  []string // variables
	unread   bool     // the targets file has problems: what stands in it is not known

	unreadable map[string]error // by path; nil where a file was read
}

// Load merges flags, environment, targets file and defaults, in this order of
// precedence, and validates the result. The error is [Problems] and then holds
// all of them; the configuration is nil.
func Load(o Options) (*Config, error) {
	if o.ReadFile == nil {
		o.ReadFile = ReadFile
	}
	all := settings(o.APIs, o.Servers)
	targets := slices.Concat(all.shared, all.target)
	l := &loader{
		Options: o, schema: all, targets: targets, entries: map[string]keys{targetList: targets, objectiveList: all.objective},
		unreadable: map[string]error{},
	}
	c := l.fill(l.merge())
	if len(l.problems) > 0 {
		return nil, l.problems.sorted()
	}
	c.Warnings, c.Unknown = l.warnings, l.unknown
	return c, nil
}

func (l *loader) problem(place, text, hint string) {
	l.problems = append(l.problems, Problem{Place: place, Text: text, Hint: hint})
}

// warn reports what is legal and probably not meant, once.
func (l *loader) warn(place, text string) {
	if warning := place + ": " + text; !slices.Contains(l.warnings, warning) {
		l.warnings = append(l.warnings, warning)
	}
}

// merge reads all sources and lays them over each other.
func (l *loader) merge() layer {
	flags, environment := l.flags(), l.environment()
	top := overlay(environment.values, flags)
	before := len(l.problems)
	file := l.file(top["TARGETS_FILE"])
	l.unread = len(l.problems) > before || top["TARGETS_FILE"].bad

	merged := layer{
		values:     overlay(file.values, top),
		targets:    slices.Concat(environment.targets, file.targets),
		objectives: slices.Concat(environment.objectives, file.objectives),
	}
	if len(l.URLs) > 0 {
		merged.targets = l.arguments()
	}
	for i, own := range merged.targets {
		merged.targets[i].values = overlay(merged.values, own.values, flags)
	}
	if len(merged.objectives) == 0 {
		where := prefix + objectiveList + "_0_"
		merged.objectives = []item{{place: where, values: values{
			"SIGNAL": {text: string(probe.SignalAvailability), label: where + "SIGNAL"},
			"GOAL":   {text: "0.99", label: where + `GOAL="0.99" (default)`},
		}}}
	}
	return merged
}

// fill parses what was merged, fills in what depends on other fields and validates all of it.
func (l *loader) fill(merged layer) *Config {
	c := &Config{}
	parse(merged.values, c, l.prober)
	l.files(merged.values, l.prober)
	c.Targets, c.Objectives = make([]Target, len(merged.targets)), make([]Objective, len(merged.objectives))
	var targets []entry
	for i, it := range merged.targets {
		parse(it.values, &c.Targets[i], l.targets)
		targets = append(targets, entry{Target: &c.Targets[i], item: it})
	}
	l.finish(targets)
	if len(targets) == 0 && !l.unread {
		l.problem(prefix+targetList+"_0_URL", "no targets", "set it, or give a URL as argument")
	}
	for _, t := range targets {
		l.validate(t)
	}
	l.names(targets)
	l.groups(targets)
	names := map[string]item{}
	for i, it := range merged.objectives {
		parse(it.values, &c.Objectives[i], l.objective)
		l.judge(&c.Objectives[i], it, names)
		l.measure(c.Objectives[i], it, targets)
	}
	return c
}
