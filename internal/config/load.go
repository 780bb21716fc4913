package config

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

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
	known    map[string]bool // variables that mean something, whether they are given or not
}

// A loaded configuration, and where all of it is from.
type loaded struct {
	*Config
	prober     origin
	targets    []entry
	objectives []origin
}

// Load merges flags, environment, targets file and defaults, in this order of precedence, and validates the result. The
// error is [usage.Problems] and then holds all of them; the configuration is nil.
func Load(o Options) (*Config, error) {
	c, err := o.load()
	if err != nil {
		return nil, err
	}
	return c.Config, nil
}

// load fills the structs with what the sources say, and validates the result.
func (o Options) load() (*loaded, error) {
	if o.ReadFile == nil {
		o.ReadFile = ReadFile
	}
	l := &loader{Options: o, schema: settings(), known: map[string]bool{}}
	variables := l.variables(prefix, slices.Concat(l.prober, l.shared))
	flags := l.flags()

	c := &loaded{Config: &Config{}}
	c.prober = origin{own: variables, sources: []*source{flags, variables}, keys: l.prober}
	l.fill(c.Config, c.prober)
	file := l.file(c.TargetsFile, c.prober.label("TARGETS_FILE"))
	l.loadTargets(c, flags, variables, file)
	l.loadObjectives(c, file)
	l.unknownVariables()
	l.validate(c)
	if len(l.problems) > 0 {
		return nil, l.problems.Sorted()
	}
	c.Warnings, c.Unknown = l.warnings, l.unknown
	return c, nil
}

// loadTargets fills the targets. Each begins as a copy of the settings that all share.
func (l *loader) loadTargets(c *loaded, flags, variables *source, file targetsFile) {
	shared := Target{}
	l.defaults(&shared)
	l.fill(&shared.Settings, origin{own: variables, sources: []*source{flags, variables, file.shared}, keys: l.shared})

	targets := slices.Concat(l.variableList(targetList, l.target), file.targets)
	if len(l.URLs) > 0 {
		targets = l.arguments()
	}
	if len(targets) == 0 && file.whole {
		place := cmp.Or(c.TargetsFile, prefix+targetList+"_0_URL")
		l.problem(place, "no targets", "want at least one, or a URL as argument")
	}
	c.Targets = make([]Target, len(targets))
	for i, own := range targets {
		t := entry{&c.Targets[i], origin{own: own, sources: []*source{flags, own, variables, file.shared}, keys: l.target}}
		*t.Target = shared
		l.apply(t.Target, own, l.target)
		l.apply(t.Target, flags, l.target) // again: a flag beats what a single target says
		c.targets = append(c.targets, t)
	}
}

// loadObjectives fills the objectives. Where none is given, there is one of defaults.
func (l *loader) loadObjectives(c *loaded, file targetsFile) {
	objectives := slices.Concat(l.variableList(objectiveList, l.objective), file.objectives)
	if len(l.Objectives) > 0 {
		objectives = l.promises()
	}
	areGiven := len(objectives) > 0
	if !areGiven {
		objectives = []*source{l.variables(prefix+objectiveList+"_0_", nil)}
	}
	c.Objectives = make([]Objective, len(objectives))
	for i, own := range objectives {
		from := origin{own: own, sources: []*source{own}, keys: l.objective}
		l.fill(&c.Objectives[i], from)
		c.objectives = append(c.objectives, from)
	}
	if areGiven {
		c.Given = c.Objectives
	}
}

func (l *loader) problem(place, text, hint string) { l.problems.Add(place, text, hint) }

// warn reports what is legal and probably not meant, once.
func (l *loader) warn(place, text string) {
	if warning := place + ": " + text; !slices.Contains(l.warnings, warning) {
		l.warnings = append(l.warnings, warning)
	}
}

// fill sets all settings of a struct: the defaults, then what its sources say, the weakest first.
func (l *loader) fill(into any, from origin) {
	l.defaults(into)
	for _, s := range slices.Backward(from.sources) {
		l.apply(into, s, from.keys)
	}
}

// defaults sets what the tags envDefault say.
func (l *loader) defaults(into any) {
	err := env.ParseWithOptions(into, env.Options{Environment: map[string]string{}, FuncMap: parsers()})
	if err != nil {
		panic(err) // a tag or a type that env does not know
	}
}

// apply sets the settings of a struct that a source says. Each that is wrong is reported and marked, and is zero then.
func (l *loader) apply(into any, s *source, ks keys) {
	options := env.Options{
		Environment: s.values, Prefix: s.prefix, FuncMap: parsers(),
		DefaultValueTagName: "-", // no defaults: the struct has them, or a weaker source's values
	}
	failed := map[string]error{} // by name of the field
	aggregate, _ := errors.AsType[env.AggregateError](env.ParseWithOptions(into, options))
	for _, err := range aggregate.Errors {
		of, ok := errors.AsType[env.ParseError](err)
		if !ok {
			panic(err) // a tag or a type that env does not know
		}
		failed[of.Name] = of.Err
	}
	_, hasKey := s.text("API_KEY")
	_, hasFile := s.text("API_KEY_FILE")
	for _, k := range ks {
		text, ok := s.text(k.name)
		switch {
		case !ok && hasKey && k.name == "API_KEY_FILE", !ok && hasFile && k.name == "API_KEY":
			k.field(into).SetZero() // a key and the file it is read from are one setting
		case !ok:
		case text == "":
			l.reset(into, k)
		default:
			l.judge(into, s, k, failed[k.fieldName])
			s.locate(k.field(into), k)
		}
	}
}

// reset sets the default of a setting.
func (l *loader) reset(into any, k Key) {
	fresh := reflect.New(reflect.TypeOf(into).Elem()).Interface()
	l.defaults(fresh)
	k.field(into).Set(k.field(fresh))
}

// judge reports what is wrong with a setting by itself. err is why it could not be parsed.
func (l *loader) judge(into any, s *source, k Key, err error) {
	text, _ := s.text(k.name)
	problem, bad := errors.AsType[usage.Problem](k.check(k.field(into), text, err))
	if !bad {
		return
	}
	l.problem(k.label(s, text), problem.Text, cmp.Or(problem.Hint, k.hint()))
	k.field(into).SetZero()
	s.wrong[k.name] = true
}

// variables returns what the variables of some settings say that begin with before.
func (l *loader) variables(before string, ks keys) *source {
	s := newSource(before, func(name string) string { return before + name })
	for _, k := range ks {
		variable := before + k.name
		l.known[variable] = true
		if text := strings.TrimSpace(l.Environ[variable]); text != "" {
			s.values[variable] = text
		}
	}
	return s
}

// flags returns what the flags say.
func (l *loader) flags() *source {
	s := newSource("", func(name string) string { return "--" + flagName(name) })
	known := slices.Concat(l.prober, l.target)
	for name, text := range l.Overrides {
		if k, ok := known.find(name); ok && k.Flag != "" {
			s.values[name] = strings.TrimSpace(text)
		}
	}
	return s
}
