package config

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/caarlos0/env/v11"
)

// prefix begins the name of every variable of ours.
const prefix = "PROBER_"

// Options are what [Load] works on. Load keeps none of it.
type Options struct {
	// Environ is the whole environment. Only names that begin with PROBER_ are
	// looked at, and an empty value counts as not given.
	Environ map[string]string
	// Overrides come from flags, by the name of a variable without prefix:
	// "PROMPT_TOKENS" for --prompt-tokens. They beat everything else, the values
	// of single targets included.
	Overrides map[string]string
	// URLs are targets given as arguments. They replace the configured targets.
	URLs []string
	// ReadFile reads the files that the configuration names; nil means [ReadFile].
	ReadFile func(string) ([]byte, error)
	// APIs are the names of the known dialects; "auto" is always allowed.
	APIs []string
	// Servers are the names of the known kinds of servers; "auto" is always allowed.
	Servers []string
}

// A loader collects problems while the sources become a configuration.
type loader struct {
	Options
	keys     schema
	problems Problems
	warnings []string
	unread   bool // the targets file has problems: what stands in it is not known

	unreadable map[string]error // by path; nil where a file was read
}

// A layer is what one source says.
type layer struct {
	values     // of the prober and, as defaults, of all targets
	targets    []item
	objectives []item
}

// Load merges flags, environment, targets file and defaults, in this order of
// precedence, and validates the result. The error is [Problems] and then holds
// all of them; the configuration is nil.
func Load(o Options) (*Config, error) {
	if o.ReadFile == nil {
		o.ReadFile = ReadFile
	}
	l := &loader{Options: o, keys: keys(o.APIs, o.Servers), unreadable: map[string]error{}}
	merged := l.merge()
	c, err := fill(merged)
	if err != nil {
		return nil, err
	}
	l.finish(c, merged)
	l.validate(c, merged)
	if len(l.problems) > 0 {
		return nil, l.problems.sorted()
	}
	c.Warnings = l.warnings
	return c, nil
}

// problem reports something wrong.
func (l *loader) problem(place, text, hint string) {
	l.problems = append(l.problems, Problem{Place: place, Text: text, Hint: hint})
}

// warn reports something doubtful, once.
func (l *loader) warn(place, text string) {
	if warning := place + ": " + text; !slices.Contains(l.warnings, warning) {
		l.warnings = append(l.warnings, warning)
	}
}

// take judges s, which the user gave for k as word.
func (l *loader) take(k key, word, s string) value {
	canonical, f := k.check(s)
	v := value{text: canonical, label: k.label(word, s), bad: f != nil}
	if v.bad {
		l.problem(v.label, f.text, f.hint)
	}
	return v
}

// merge reads all sources and lays them over each other.
func (l *loader) merge() layer {
	flags, environment := l.flags(), l.environment()
	top := values{}
	top.overlay(environment.values)
	top.overlay(flags)
	before := len(l.problems)
	file := l.file(top["TARGETS_FILE"])
	l.unread = len(l.problems) > before || top["TARGETS_FILE"].bad

	merged := layer{values: defaults(l.keys.in(proberScope, sharedScope))}
	merged.overlay(file.values)
	merged.overlay(top)
	merged.targets = slices.Concat(environment.targets, file.targets)
	if len(l.URLs) > 0 {
		merged.targets = l.arguments()
	}
	for i := range merged.targets {
		merged.targets[i].values = l.inherit(merged, merged.targets[i].values, flags)
	}
	merged.objectives = slices.Concat(environment.objectives, file.objectives)
	if len(merged.objectives) == 0 {
		merged.objectives = []item{defaultObjective()}
	}
	return merged
}

// inherit returns all values of a target whose own are own.
func (l *loader) inherit(merged layer, own, flags values) values {
	all := defaults(l.keys.in(targetScope))
	all.overlay(merged.only(l.keys.in(sharedScope)))
	all.overlay(own)
	all.overlay(flags.only(l.keys.in(sharedScope, targetScope)))
	return all
}

// defaults returns the values that keys have when nobody gives one.
func defaults(keys schema) values {
	assumed := values{}
	for _, k := range keys {
		if k.fallback != "" {
			assumed[k.name] = assume(k, prefix+k.name, k.fallback)
		}
	}
	return assumed
}

// assume is s as the default of k.
func assume(k key, word, s string) value {
	canonical, _ := k.check(s)
	return value{text: canonical, label: k.label(word, s) + " (default)", assumed: true}
}

// fill parses merged into the fields of a configuration. Values that are bad
// or not given leave the zero value. It fails only if a canonical text is not
// what the field's type parses, which is a mistake of ours.
func fill(merged layer) (*Config, error) {
	environment := map[string]string{}
	put := func(before string, v values) {
		environment[before+"NAME"] = "" // an entry without any variable would end its list
		for name, given := range v {
			environment[before+name] = given.text
		}
	}
	put(prefix, merged.values)
	for i, it := range merged.targets {
		put(fmt.Sprintf("%s%s_%d_", prefix, targetList, i), it.values)
	}
	for i, it := range merged.objectives {
		put(fmt.Sprintf("%s%s_%d_", prefix, objectiveList, i), it.values)
	}
	c, err := env.ParseAsWithOptions[Config](env.Options{
		Environment: environment,
		Prefix:      prefix,
		FuncMap:     map[reflect.Type]env.ParserFunc{headersType: decodeHeaders},
	})
	if err != nil {
		return nil, fmt.Errorf("fill configuration: %w", err)
	}
	return &c, nil
}
