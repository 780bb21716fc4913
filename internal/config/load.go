package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// Options are the sources of a configuration. [Load] does not keep them.
type Options struct {
	Environ map[string]string // only names with PROBER_ at the start count; an empty value is as good as none

	// Overrides are the values of flags, by the name of the variable without PROBER_: PROMPT_TOKENS for --prompt-tokens.
	// Other names are ignored. They also replace what single targets say. An empty value restores the default.
	Overrides  map[string]string
	URLs       []string // targets given as arguments; they replace the configured targets
	Objectives []string // given as flags, "ttft<2s@95%"; they replace the configured objectives
	Finite     bool     // the run ends by itself: no target may be rejected, and goals and daily costs are not judged

	// Elsewhere says that the prober is to run on another machine, which has files that are missing here, such as mounted
	// keys: that a file does not exist is a warning. The targets file has to be here.
	Elsewhere bool

	// ReadFile reads the files that the configuration names, each as often as it is named; nil means [ReadFile].
	ReadFile func(string) ([]byte, error)
}

// A target is one entry of the targets while it is read.
type target struct {
	settings   *Target
	entry      *entry
	isListed   bool           // stands for the targets that sources list
	prompts    []*promptEntry // nil: it has one, by its own settings
	objectives []*objective   // its own; nil: it has those of all targets
}

// An objective is one entry of the objectives while it is read.
type objective struct {
	settings *objectiveSettings
	entry    *entry
}

// A loader merges the sources into a configuration and collects what is wrong with it.
type loader struct {
	options    Options
	schema     schema
	config     *Config
	prober     *entry // of config
	targets    []*target
	objectives []*objective    // of the targets that have none of their own
	sources    []*source       // of further targets
	problems   usage.Problems  // that belong to none of these
	variables  map[string]bool // the variables of all settings, given or not
}

// Load merges flags, environment, targets file and defaults, in this order of precedence, and validates the result. It
// rejects targets that are wrong. If no target is right, or if anything else is wrong, the configuration is nil and the
// error is [usage.Problems] with all problems.
func Load(o Options) (*Config, error) {
	l := newLoader(o)
	err := l.load()
	if err != nil {
		return nil, err
	}
	return l.config, nil
}

// newLoader returns a loader that knows what variables and flags say about the prober itself, and has parsed nothing.
func newLoader(o Options) *loader {
	if o.ReadFile == nil {
		o.ReadFile = ReadFile
	}
	l := &loader{options: o, schema: newSchema(), variables: map[string]bool{}}
	l.prober = newEntry(l.schema.prober, variableAt(prefix))
	l.config = l.prober.settings.(*Config)
	l.readVariables(l.prober, prefix)
	l.prober.values = merge(l.prober.values, l.flags(l.schema.prober))
	return l
}

// load does what [Load] does, in this order.
func (l *loader) load() error {
	shared, ofProber := l.readTargetsFile()
	l.prober.values = merge(ofProber.values, l.prober.values) // the file counts least
	l.parseProber()

	variables := newEntry(l.schema.shared, variableAt(prefix))
	l.readVariables(variables, prefix)
	shared.values = merge(shared.values, variables.values)
	for _, list := range l.schema.shared.lists {
		shared.entries[list] = slices.Concat(variables.entries[list], shared.entries[list])
	}

	l.loadSources(shared)
	l.loadTargets(shared)
	l.loadPrompts(shared)
	l.loadObjectives(shared)
	l.reportUnknownVariables()
	l.validate()
	return l.finish()
}

// LoadWithoutTargets returns the settings of the prober itself, and the names of the labels that variables and flags
// give targets. A setting that is invalid has its default, and invalid has its name without PROBER_. TARGETS_FILE,
// SHARD and MAX_TOKENS_PER_DAY, which a reload reads again, have their defaults. It reads no targets file and no key:
// a drain of a server must not wait for one.
func LoadWithoutTargets(o Options) (c *Config, invalid []string) {
	given := newLoader(o)
	given.parseProber()
	valid := newLoader(Options{ReadFile: given.options.ReadFile})
	for _, k := range given.schema.prober.keys {
		v, isGiven := given.prober.values[k.name]
		switch {
		case !isGiven:
		case given.prober.wrong[k.name]:
			invalid = append(invalid, k.name)
		case k.needsRestart():
			valid.prober.values[k.name] = v
		}
	}
	valid.parseProber()
	variables := newEntry(given.schema.shared, variableAt(prefix))
	given.readVariables(variables, prefix)
	given.loadTargets(variables)
	given.collectLabelNames()
	valid.config.LabelNames = given.config.LabelNames
	return valid.config, invalid
}

// parseProber parses the settings of the prober itself.
func (l *loader) parseProber() {
	l.prober.parse()
	l.config.ExternalURL = strings.TrimRight(l.config.ExternalURL, "/")
	l.config.GrafanaURL = strings.TrimRight(l.config.GrafanaURL, "/")
	l.checkFile(l.prober, &l.config.WebConfigFile)
}

// loadTargets parses the targets. What one target says replaces what all share, and flags replace both.
func (l *loader) loadTargets(shared *entry) {
	flags := l.flags(l.schema.target)
	entries := shared.entries[l.schema.target]
	if len(l.options.URLs) > 0 {
		entries = l.arguments()
	}
	var listed *entry
	if len(l.sources) > 0 {
		listed = l.listedEntry()
		entries = append(slices.Clip(entries), listed)
	}
	for _, e := range entries {
		e.values = merge(shared.values, e.values, flags)
		maps.Copy(e.wrong, shared.wrong)
		e.parse()
		t := &target{settings: e.settings.(*Target), entry: e, isListed: e == listed}
		t.settings.Places = e.places()
		l.targets = append(l.targets, t)
	}
	if len(entries) == 0 && len(shared.problems) == 0 && l.prober.right(&l.config.TargetsFile) {
		place := cmp.Or(l.config.TargetsFile, prefix+l.schema.target.list+"_0_URL")
		l.problems.Add(place, "no targets", "want at least one target, or a URL as an argument")
	}
	shared.values = merge(shared.values, flags)
	shared.parse() // a wrong value is a problem, even if each target has a value of its own
	l.problems = append(l.problems, shared.problems...)
}

// loadObjectives parses the objectives: those of all targets, and those that targets have themselves. Without any for
// all, it adds one that has only defaults. Those of flags replace all others.
func (l *loader) loadObjectives(shared *entry) {
	entries := shared.entries[l.schema.objective]
	areFlags := len(l.options.Objectives) > 0
	if areFlags {
		entries = l.flagObjectives()
	}
	areGiven := len(entries) > 0
	if !areGiven {
		placeOf := variableAt(prefix + l.schema.objective.list + "_0_")
		if l.config.TargetsFile != "" {
			placeOf = func(k Key) place { return place{at: l.config.TargetsFile, key: k.fileKey()} }
		}
		entries = []*entry{newEntry(l.schema.objective, placeOf)}
	}
	var ofAll []probe.Objective
	l.objectives, ofAll = parseObjectives(entries)
	for _, t := range l.targets {
		t.settings.Objectives = ofAll
		if areFlags {
			delete(t.entry.entries, l.schema.objective)
		}
		own := t.entry.entries[l.schema.objective]
		if len(own) > 0 {
			t.objectives, t.settings.Objectives = parseObjectives(own)
		}
		if t.settings.Refusals == "bad" {
			t.settings.Objectives = slices.Clone(t.settings.Objectives) // other targets have the same list
			for i := range t.settings.Objectives {
				t.settings.Objectives[i].RefusalsAreBad = true
			}
		}
		if areGiven || len(own) > 0 {
			t.settings.GivenObjectives = t.settings.Objectives
		}
	}
}

// parseObjectives parses a list of objectives. Without a name, an objective has that of its signal.
func parseObjectives(entries []*entry) (parsed []*objective, values []probe.Objective) {
	for _, e := range entries {
		e.parse()
		s := e.settings.(*objectiveSettings)
		if s.Name == "" && e.right(&s.Name) {
			s.Name = string(s.Signal)
		}
		parsed = append(parsed, &objective{settings: s, entry: e})
		values = append(values, probe.Objective(*s))
	}
	return parsed, values
}

// finish puts the targets into the configuration, the right ones and the rejected ones. The error has all problems. It
// is nil if only some targets have problems, which a finite run does not allow.
func (l *loader) finish() error {
	c := l.config
	problems := slices.Concat(l.problems, l.prober.problems)
	for _, o := range l.objectives {
		problems = append(problems, o.entry.problems...)
	}
	isRefused := len(problems) > 0 // for a problem that belongs to no target
	for _, t := range l.targets {
		for _, p := range t.prompts {
			t.entry.problems = append(t.entry.problems, p.entry.problems...)
		}
		problems = append(problems, t.entry.problems...)
		isRight := len(t.entry.problems) == 0
		if isRight && t.isListed {
			c.Shared = *t.settings
		} else if isRight {
			c.Targets = append(c.Targets, *t.settings)
		}
	}
	for _, s := range l.sources {
		problems = append(problems, s.entry.problems...)
		if len(s.entry.problems) == 0 && c.Shared.Name != "" {
			c.HTTPSD = append(c.HTTPSD, *s.settings)
		}
	}
	l.reject()
	if l.options.Finite {
		problems = append(problems, l.leaveOutDisabled()...)
	}
	if isRefused || c.MustRefuse(l.options.Finite) {
		return problems.Sorted()
	}
	return nil
}

// leaveOutDisabled takes the disabled targets out of the configuration of a run that is finite: nobody will enable them
// while it lasts. It is a problem if no target is left.
func (l *loader) leaveOutDisabled() (problems usage.Problems) {
	c := l.config
	place := ""
	for _, t := range l.targets {
		if len(t.entry.problems) == 0 && !t.settings.Enabled {
			place = t.entry.problemPlace(&t.settings.Enabled)
			l.warn(place, fmt.Sprintf("target %s is disabled, and left out", quote(t.settings.Name)))
		}
	}
	c.Targets = slices.DeleteFunc(c.Targets, func(t Target) bool { return !t.Enabled })
	if !c.Shared.Enabled {
		c.HTTPSD = nil
	}
	if place != "" && len(c.Targets) == 0 && len(c.HTTPSD) == 0 && len(c.Rejected) == 0 {
		problems.Add(place, "all targets are disabled", "enable one of them; --enabled enables all for one command")
	}
	return problems
}

// reject puts the targets that have problems into the configuration, each with a unique name, and sources as if each
// were a target.
func (l *loader) reject() {
	names := map[string]bool{}
	for _, t := range l.config.Targets {
		names[t.Name] = true
	}
	reject := func(wanted string, e *entry, labels Labels) {
		if len(e.problems) == 0 {
			return
		}
		name := wanted
		for n := 2; names[name]; n++ {
			name = fmt.Sprintf("%s (%d)", wanted, n)
		}
		names[name] = true
		l.config.Rejected = append(l.config.Rejected, Rejected{Name: name, Labels: labels, Problems: e.problems.Sorted()})
	}
	for _, t := range l.targets {
		reject(cmp.Or(t.settings.Name, t.entry.title), t.entry, t.settings.Labels)
	}
	for _, s := range l.sources {
		reject(s.entry.title, s.entry, nil)
	}
}

// warn adds a warning about something that is legal but probably a mistake. It adds each warning once.
func (l *loader) warn(place, text string) {
	warning := place + ": " + text
	if !slices.Contains(l.config.Warnings, warning) {
		l.config.Warnings = append(l.config.Warnings, warning)
	}
}

// Effective returns the configuration for people: as YAML, with the source of each value that is not a default. A
// rejected target is an error.
func Effective(o Options) (text string, warnings []string, err error) {
	l := newLoader(o)
	err = l.load()
	if err == nil && len(l.config.Rejected) > 0 {
		err = l.config.Problems()
	}
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	b.WriteString("prober:\n")
	show(&b, "  ", l.prober)
	b.WriteString("targets:\n")
	for _, t := range l.targets {
		if !t.isListed {
			show(&b, "  - ", t.entry)
		}
	}
	if len(l.sources) > 0 {
		b.WriteString("http_sd:\n")
	}
	for _, s := range l.sources {
		show(&b, "  - ", s.entry)
	}
	for _, t := range l.targets {
		if t.isListed {
			b.WriteString(listedName + ":\n")
			show(&b, "  ", t.entry)
		}
	}
	b.WriteString("objectives:\n")
	for _, o := range l.objectives {
		show(&b, "  - ", o.entry)
	}
	return b.String(), l.config.Warnings, nil
}

// show writes the settings of an entry that have a value, and its lists. The first line begins with lead, and the
// others are indented as far.
func show(b *strings.Builder, lead string, e *entry) {
	indent := strings.Repeat(" ", len(lead))
	for _, k := range e.section.keys {
		value := k.text(e.settings)
		if value == "" {
			continue
		}
		labels, isLabels := k.pointer(e.settings).(*Labels)
		depths, areDepths := k.pointer(e.settings).(*Depths)
		switch {
		case k.secret:
			value = "'***'"
		case isLabels:
			value = labels.yaml()
		case k.kind.isJSON: // which is YAML as it is
		case areDepths:
			value = depths.yaml()
		case k.Type != "number" && !k.Switch:
			text, _ := yaml.Marshal(value) // a text can always be encoded
			value = strings.TrimSpace(string(text))
		}
		line := lead + k.fileKey() + ": " + value
		if e.given(k.pointer(e.settings)) {
			line = fmt.Sprintf("%-44s # %s", line, e.values[k.name].place.at)
		}
		b.WriteString(line + "\n")
		lead = indent
	}
	for _, list := range e.section.lists {
		if len(e.entries[list]) > 0 {
			b.WriteString(indent + list.fileKey() + ":\n")
		}
		for _, next := range e.entries[list] {
			show(b, indent+"  - ", next)
		}
	}
}
