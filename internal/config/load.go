package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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

	// ReadFile reads the files that the configuration names, each as often as it is named; nil means [ReadFile].
	ReadFile func(string) ([]byte, error)
}

// A target is one entry of the targets while it is read.
type target struct {
	Target
	*origin
	objectives []*objective // its own; nil: it has those of all targets
}

// An objective is one entry of the objectives while it is read.
type objective struct {
	objectiveSettings
	*origin
}

// A loader merges the sources into a configuration and collects what is wrong with it.
type loader struct {
	Options
	settings   schema
	config     *Config
	prober     *origin // of config
	targets    []*target
	objectives []*objective    // of the targets that have none of their own
	problems   usage.Problems  // that belong to none of these
	known      map[string]bool // the variables of all settings, given or not
}

// Load merges flags, environment, targets file and defaults, in this order of precedence, and validates the result. It
// rejects targets that are wrong. If no target is right, or if anything else is wrong, the configuration is nil and the
// error is [usage.Problems] with all problems.
func Load(o Options) (*Config, error) {
	l, err := o.load()
	if err != nil {
		return nil, err
	}
	return l.config, nil
}

// LoadWithoutTargets returns the settings of the prober itself, without targets. Of these it knows only the names of
// the labels in variables and flags. A setting that is invalid has its default, and its name, without PROBER_, is one
// of invalid. TARGETS_FILE, SHARD and MAX_TOKENS_PER_DAY, which a reload reads again, have their defaults. It reads no
// targets file and no key: who drains a server must not wait for one.
func LoadWithoutTargets(o Options) (c *Config, invalid []string) {
	given := o.loader()
	given.loadOwn()
	own := Options{ReadFile: given.ReadFile}.loader()
	for name, v := range given.prober.says {
		if given.prober.wrong[name] {
			invalid = append(invalid, name)
		} else if !slices.Contains(reloaded, name) {
			own.prober.says[name] = v
		}
	}
	own.loadOwn()
	shared := newOrigin(given.settings.shared, nil)
	shared.says = given.variables(prefix, given.settings.shared)
	given.loadTargets(targetsFile{shared: shared}, given.flags(given.settings.target))
	given.nameLabels()
	own.config.LabelNames = given.config.LabelNames
	return own.config, invalid
}

// loader returns a loader that knows what variables and flags say about the prober itself, and has parsed nothing.
func (o Options) loader() *loader {
	if o.ReadFile == nil {
		o.ReadFile = ReadFile
	}
	l := &loader{Options: o, settings: settings(), config: &Config{}, known: map[string]bool{}}
	l.prober = newOrigin(l.settings.prober, variableAt(prefix))
	l.prober.says = merge(l.variables(prefix, l.settings.prober), l.flags(l.settings.prober))
	return l
}

// loadOwn parses the settings of the prober itself.
func (l *loader) loadOwn() {
	l.prober.parse(l.config)
	l.config.ExternalURL = strings.TrimRight(l.config.ExternalURL, "/")
	l.config.GrafanaURL = strings.TrimRight(l.config.GrafanaURL, "/")
	l.checkFile(l.prober, "WEB_CONFIG_FILE", l.config.WebConfigFile)
}

// load does what [Load] does. The loader that it returns also knows the source of every value.
func (o Options) load() (*loader, error) {
	l := o.loader()
	l.loadOwn()
	file := l.readTargetsFile()
	l.loadVantage(file.prober)
	file.shared.says = merge(file.shared.says, l.variables(prefix, l.settings.shared))
	l.loadTargets(file, l.flags(l.settings.target))
	l.loadObjectives(file)
	l.unknownVariables()
	l.validate()
	return l, l.finish()
}

// loadVantage parses what the targets file says of the vantage. It counts if neither variable nor flag says anything.
func (l *loader) loadVantage(file *origin) {
	const name = "VANTAGE"
	if file.given(name) && !l.prober.given(name) {
		var ofFile Config
		file.parse(&ofFile)
		l.config.Vantage = ofFile.Vantage
		l.prober.says[name] = file.says[name]
	}
	l.problems = append(l.problems, file.problems...)
}

// loadTargets parses the targets. What one target says replaces what all share, and flags replace both.
func (l *loader) loadTargets(file targetsFile, flags layer) {
	shared := file.shared
	entries := slices.Concat(l.numbered(targetList, l.settings.target), file.targets)
	if len(l.URLs) > 0 {
		entries = l.arguments()
	}
	for _, from := range entries {
		from.says = merge(shared.says, from.says, flags)
		maps.Copy(from.wrong, shared.wrong)
		t := &target{origin: from}
		t.parse(&t.Target)
		t.Places = from.places()
		l.targets = append(l.targets, t)
	}
	if len(entries) == 0 && len(shared.problems) == 0 && l.prober.right("TARGETS_FILE") {
		place := cmp.Or(l.config.TargetsFile, prefix+targetList+"_0_URL")
		l.problems.Add(place, "no targets", "want at least one target, or a URL as an argument")
	}
	shared.says = merge(shared.says, flags)
	shared.parse(new(Settings)) // a wrong value is a problem, even if each target has a value of its own
	l.problems = append(l.problems, shared.problems...)
}

// loadObjectives parses the objectives: those of all targets, and those that targets have themselves. Without any for
// all, it adds one that has only defaults. Those of flags replace all others.
func (l *loader) loadObjectives(file targetsFile) {
	entries := slices.Concat(l.numbered(objectiveList, l.settings.objective), file.objectives)
	areFlags := len(l.Objectives) > 0
	if areFlags {
		entries = l.flagObjectives()
	}
	areGiven := len(entries) > 0
	if !areGiven {
		entries = []*origin{newOrigin(l.settings.objective, variableAt(prefix+objectiveList+"_0_"))}
	}
	var ofAll []Objective
	l.objectives, ofAll = parseObjectives(entries)
	for _, t := range l.targets {
		t.Objectives = ofAll
		hasOwn := len(t.origin.objectives) > 0 && !areFlags
		if hasOwn {
			t.objectives, t.Objectives = parseObjectives(t.origin.objectives)
		}
		if t.Refusals == "bad" {
			t.Objectives = slices.Clone(t.Objectives) // other targets have the same list
			for i := range t.Objectives {
				t.Objectives[i].RefusalsAreBad = true
			}
		}
		if areGiven || hasOwn {
			t.GivenObjectives = t.Objectives
		}
	}
}

// parseObjectives parses a list of objectives. Without a name, an objective has that of its signal.
func parseObjectives(entries []*origin) (parsed []*objective, values []Objective) {
	for _, from := range entries {
		o := &objective{origin: from}
		o.parse(&o.objectiveSettings)
		if o.Name == "" && o.right("NAME") {
			o.Name = string(o.Signal)
		}
		parsed = append(parsed, o)
		values = append(values, Objective(o.objectiveSettings))
	}
	return parsed, values
}

// finish puts the targets into the configuration, the right ones and the rejected ones. The error has all problems. It
// is nil if only some targets have problems, which a finite run does not allow.
func (l *loader) finish() error {
	c := l.config
	problems := slices.Concat(l.problems, l.prober.problems)
	for _, o := range l.objectives {
		problems = append(problems, o.problems...)
	}
	isRefused := len(problems) > 0 // for a problem that belongs to no target
	for _, t := range l.targets {
		problems = append(problems, t.problems...)
		if len(t.problems) == 0 {
			c.Targets = append(c.Targets, t.Target)
		}
	}
	l.reject()
	if l.Finite {
		problems = append(problems, l.leaveOutDisabled()...)
	}
	if isRefused || c.MustRefuse(l.Finite) {
		return problems.Sorted()
	}
	return nil
}

// leaveOutDisabled takes the disabled targets out of the configuration of a run that is finite: nobody will enable them
// while it lasts. It is a problem if no target is left.
func (l *loader) leaveOutDisabled() (problems usage.Problems) {
	place := ""
	for _, t := range l.targets {
		if len(t.problems) == 0 && !t.Enabled {
			place = t.label("ENABLED")
			l.warn(place, fmt.Sprintf("target %s is disabled, and left out", quote(t.Name)))
		}
	}
	l.config.Targets = slices.DeleteFunc(l.config.Targets, func(t Target) bool { return !t.Enabled })
	if place != "" && len(l.config.Targets) == 0 && len(l.config.Rejected) == 0 {
		problems.Add(place, "all targets are disabled", "enable one of them; --enabled enables all for one command")
	}
	return problems
}

// reject puts the targets that have problems into the configuration, each with a unique name.
func (l *loader) reject() {
	names := map[string]bool{}
	for _, t := range l.config.Targets {
		names[t.Name] = true
	}
	for _, t := range l.targets {
		if len(t.problems) == 0 {
			continue
		}
		name := cmp.Or(t.Name, t.entry)
		for n := 2; names[name]; n++ {
			name = fmt.Sprintf("%s (%d)", cmp.Or(t.Name, t.entry), n)
		}
		names[name] = true
		rejected := Rejected{Name: name, Labels: t.Labels, Problems: t.problems.Sorted()}
		l.config.Rejected = append(l.config.Rejected, rejected)
	}
}

// warn adds a warning about something that is legal but probably a mistake. It adds each warning once.
func (l *loader) warn(place, text string) {
	warning := place + ": " + text
	if !slices.Contains(l.config.Warnings, warning) {
		l.config.Warnings = append(l.config.Warnings, warning)
	}
}
