package config

import (
	"cmp"
	"slices"

	"github.com/llm-prober/prober/internal/usage"
)

// Options are what [Load] works on. Load keeps none of it.
type Options struct {
	Environ map[string]string // only names that begin with PROBER_ are looked at; an empty value counts as not given
	// Overrides come from flags, by the name of a variable without prefix: PROMPT_TOKENS for
	// --prompt-tokens; others are ignored. They also beat the values of single targets. An empty one means the default.
	Overrides  map[string]string
	URLs       []string // targets given as arguments; they replace the configured targets
	Objectives []string // given as flags, "ttft<2s@95%"; they replace the configured objectives
	Finite     bool     // for a run that ends: neither goals nor costs are judged by the hour or the day

	// ReadFile reads the files that the configuration names, one as often as it is named; nil means [ReadFile].
	ReadFile func(string) ([]byte, error)
}

// A loader collects problems while the sources become a configuration.
type loader struct {
	Options
	schema
	problems usage.Problems
	warnings []string
	unknown  []string        // variables
	path     string          // of the targets file
	judged   map[string]bool // overridden values, by label
	none     bool            // no objective was given
}

// Load merges flags, environment, targets file and defaults, in this order of precedence, and validates the result. The
// error is [usage.Problems] and then holds all of them; the configuration is nil.
func Load(o Options) (*Config, error) {
	_, _, c, err := o.load()
	return c, err
}

// load is [Load], with what the configuration was made of.
func (o Options) load() (*loader, layer, *Config, error) {
	if o.ReadFile == nil {
		o.ReadFile = ReadFile
	}
	l := &loader{Options: o, schema: settings(), judged: map[string]bool{}}
	all := l.merged()
	c := l.typed(all)
	if len(l.problems) > 0 {
		return nil, all, nil, l.problems.Sorted()
	}
	c.Warnings, c.Unknown = l.warnings, l.unknown
	return l, all, c, nil
}

func (l *loader) problem(place, text, hint string) { l.problems.Add(place, text, hint) }

// warn reports what is legal and probably not meant, once.
func (l *loader) warn(place, text string) {
	if warning := place + ": " + text; !slices.Contains(l.warnings, warning) {
		l.warnings = append(l.warnings, warning)
	}
}

// merged is what all sources say, laid over each other. There is at least one target and one objective.
func (l *loader) merged() layer {
	flags, environment := l.flags(), l.environment()
	file, whole := l.file(overlay(environment.values, flags)["TARGETS_FILE"])
	all := layer{
		values:     overlay(file.values, environment.values, flags),
		targets:    slices.Concat(environment.targets, file.targets),
		objectives: slices.Concat(environment.objectives, file.objectives),
	}
	if len(l.URLs) > 0 {
		all.targets = l.arguments()
	}
	if len(all.targets) == 0 {
		l.parse(&Settings{}, item{values: all.values}, l.shared)
		if whole {
			place := cmp.Or(l.path, numbered(targetList, 0).label("URL"))
			l.problem(place, "no targets", "want at least one, or a URL as argument")
		}
	}
	for i, own := range all.targets {
		all.targets[i].values = overlay(file.values, environment.values, own.values, flags)
	}
	if len(l.Objectives) > 0 {
		all.objectives = l.promises()
	}
	if l.none = len(all.objectives) == 0; l.none {
		all.objectives = []item{numbered(objectiveList, 0)}
	}
	return all
}

// typed parses what was merged, fills in what depends on other fields and validates all of it.
func (l *loader) typed(all layer) *Config {
	c := &Config{Targets: make([]Target, len(all.targets)), Objectives: make([]Objective, len(all.objectives))}
	prober := item{values: all.values, setting: func(name string) string { return prefix + name }}
	l.parse(c, prober, l.prober)
	var targets []entry
	for i, it := range all.targets {
		t := entry{Target: &c.Targets[i], item: it}
		l.parse(t.Target, it, l.target)
		l.complete(t)
		l.validate(t)
		targets = append(targets, t)
	}
	l.name(targets)
	for _, t := range targets {
		l.warnOfBudget(t) // by the name that it has now
	}
	l.groups(targets)
	l.limitCost(c.MaxTokensPerDay, prober, targets)
	names := map[string]item{}
	for i, it := range all.objectives {
		l.parse(&c.Objectives[i], it, l.objective)
		l.judge(&c.Objectives[i], it, names)
		if !l.Finite && len(l.Objectives) == 0 {
			l.measure(c.Objectives[i], it, targets)
		}
	}
	if !l.none {
		c.Given = c.Objectives
	}
	return c
}
