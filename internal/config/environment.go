package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/usage"
)

// variableAt returns a function that spells the variable of a setting: before, then the name.
func variableAt(before string) func(Key) place {
	return func(k Key) place { return place{at: before + k.name} }
}

// readVariables reads what the variables say about e and the entries of its lists. The names of variables begin with
// before, as PROBER_TARGETS_0_. A list ends before the first number that has no variable.
func (l *loader) readVariables(e *entry, before string) {
	for _, k := range e.section.keys {
		variable := before + k.name
		l.variables[variable] = true
		text := strings.TrimSpace(l.options.Environ[variable])
		if text != "" {
			e.values[k.name] = value{text: text, place: place{at: variable}}
		}
	}
	for _, list := range e.section.lists {
		for n := 0; ; n++ {
			name := fmt.Sprintf("%s%s_%d", before, list.list, n)
			next := newEntry(list, variableAt(name+"_"))
			next.title = name
			next.nameHint = "set " + name + "_NAME"
			l.readVariables(next, name+"_")
			if len(next.values) == 0 && len(next.entries) == 0 {
				break
			}
			e.entries[list] = append(e.entries[list], next)
		}
	}
}

// flags returns what the flags say about the settings of a section.
func (l *loader) flags(s *section) layer {
	says := layer{}
	for _, k := range s.keys {
		text, isGiven := l.options.Overrides[k.name]
		if isGiven && k.Flag != "" {
			says[k.name] = value{text: strings.TrimSpace(text), place: flagPlace(k)}
		}
	}
	return says
}

func flagPlace(k Key) place { return place{at: "--" + flagName(k.name)} }

// arguments returns a target for each URL argument, which is written as URL or as NAME=URL.
func (l *loader) arguments() (entries []*entry) {
	for i, url := range l.options.URLs {
		e := newEntry(l.schema.target, flagPlace)
		t := e.settings.(*Target)
		e.title = fmt.Sprintf("URL argument %d", i+1)
		e.nameHint = "give each URL a name: NAME=URL"
		name, rest, named := strings.Cut(url, "=")
		name = strings.TrimSpace(name)
		if named && name != "" && !strings.Contains(name, "/") {
			e.writeAt(place{at: "name of " + e.title}, &t.Name, name)
			url = rest
		}
		e.writeAt(place{at: e.title}, &t.URL, strings.TrimSpace(url))
		entries = append(entries, e)
	}
	return entries
}

// serviceLink matches variables that Kubernetes makes for a Service called prober:
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
var serviceLink = regexp.MustCompile(
	`^PROBER(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// reportUnknownVariables reports the variables that begin with PROBER_ and are no settings. Empty ones and those that
// Kubernetes makes do not count.
func (l *loader) reportUnknownVariables() {
	for _, variable := range slices.Sorted(maps.Keys(l.options.Environ)) {
		text := strings.TrimSpace(l.options.Environ[variable])
		if !strings.HasPrefix(variable, prefix) || l.variables[variable] || text == "" {
			continue
		}
		isLink := serviceLink.MatchString(variable) || strings.HasSuffix(variable, "_PORT") && strings.Contains(text, "://")
		if !isLink {
			l.reportUnknownVariable(variable)
		}
	}
}

// reportUnknownVariable reports a variable that is no setting. It is a problem if it seems to be a mistake, because it
// belongs to a list or resembles a setting that is not given. Otherwise it is a warning.
func (l *loader) reportUnknownVariable(variable string) {
	const wantList = "set PROBER_TARGETS_0_URL, PROBER_OBJECTIVES_0_GOAL, …; docs/configuration.md lists them"
	name := strings.TrimPrefix(variable, prefix)
	near := l.nearVariable(name)
	isList := false
	isOfList := false
	for _, list := range l.schema.shared.lists {
		isList = isList || name == list.list || name+"S" == list.list
		isOfList = isOfList || strings.HasPrefix(name, list.list+"_")
	}
	if !printable(variable) {
		variable = quote(variable)
	}
	switch {
	case isList:
		l.problems.Add(variable, "a list has no value of its own", wantList)
	case near != "":
		l.problems.Add(variable, "unknown variable (did you mean "+near+"?)", "")
	case strings.HasPrefix(name, l.schema.source.list) && strings.HasSuffix(name, "_REFRESH_INTERVAL"):
		l.problems.Add(variable, "unknown variable", refreshHint)
	case name == "INTERVAL" || isOfList && strings.HasSuffix(name, "_INTERVAL"):
		l.problems.Add(variable, "unknown variable", intervalHint)
	case isOfList:
		l.problems.Add(variable, "unknown variable", wantList)
	default:
		l.warn(variable, "unknown variable, ignored")
	}
}

// nearVariable returns the variable that a name without PROBER_ was probably meant to be, among the variables that are
// not given; "" if none resembles the name.
func (l *loader) nearVariable(name string) string {
	k, isOfTarget := l.schema.target.find(name)
	if isOfTarget && !k.Shared {
		return prefix + l.schema.target.list + "_0_" + name
	}
	var names []string
	for variable := range l.variables {
		if l.options.Environ[variable] == "" {
			names = append(names, strings.TrimPrefix(variable, prefix))
		}
	}
	slices.Sort(names)
	near := usage.Nearest(name, names)
	if near == "" {
		return ""
	}
	return prefix + near
}
