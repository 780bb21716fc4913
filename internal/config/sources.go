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
func variableAt(before string) func(name string) string {
	return func(name string) string { return before + name }
}

// variables returns what the variables of some settings say. Their names begin with before, as PROBER_TARGETS_0_.
func (l *loader) variables(before string, ks keys) layer {
	says := layer{}
	for _, k := range ks {
		variable := before + k.name
		l.known[variable] = true
		text := strings.TrimSpace(l.Environ[variable])
		if text != "" {
			says[k.name] = value{text: text, place: variable}
		}
	}
	return says
}

// numbered returns the entries of a list of variables, targets with their own objectives. It ends before the first
// number that has no variable.
func (l *loader) numbered(list string, ks keys) (entries []*origin) {
	for {
		before := fmt.Sprintf("%s%s_%d_", prefix, list, len(entries))
		from := newOrigin(ks, variableAt(before))
		from.says = l.variables(before, ks)
		from.entry = strings.TrimSuffix(before, "_")
		from.naming = "set " + before + "NAME"
		if list == targetList {
			ofTarget := fmt.Sprintf("%s_%d_%s", targetList, len(entries), objectiveList)
			from.objectives = l.numbered(ofTarget, l.settings.objective)
		}
		if len(from.says) == 0 && from.objectives == nil {
			return entries
		}
		entries = append(entries, from)
	}
}

// flags returns what the flags say about some settings.
func (l *loader) flags(ks keys) layer {
	says := layer{}
	for _, k := range ks {
		text, isGiven := l.Overrides[k.name]
		if isGiven && k.Flag != "" {
			says[k.name] = value{text: strings.TrimSpace(text), place: "--" + k.Flag}
		}
	}
	return says
}

// arguments returns a target for each URL argument, which is written as URL or as NAME=URL.
func (l *loader) arguments() (entries []*origin) {
	for i, url := range l.URLs {
		from := newOrigin(l.settings.target, func(name string) string { return "--" + flagName(name) })
		argument := fmt.Sprintf("URL argument %d", i+1)
		from.entry = argument
		from.naming = "give each URL a name: NAME=URL"
		name, rest, named := strings.Cut(url, "=")
		name = strings.TrimSpace(name)
		if named && name != "" && !strings.Contains(name, "/") {
			from.says["NAME"] = value{text: name, place: "name of " + argument}
			url = rest
		}
		from.says["URL"] = value{text: strings.TrimSpace(url), place: argument}
		entries = append(entries, from)
	}
	return entries
}

// serviceLink matches variables that Kubernetes makes for a Service called prober:
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
var serviceLink = regexp.MustCompile(
	`^PROBER(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// unknownVariables reports the variables that begin with PROBER_ and are no settings. Empty ones and those that
// Kubernetes makes do not count.
func (l *loader) unknownVariables() {
	for _, variable := range slices.Sorted(maps.Keys(l.Environ)) {
		text := strings.TrimSpace(l.Environ[variable])
		isOther := !strings.HasPrefix(variable, prefix) || l.known[variable] || text == ""
		isLink := serviceLink.MatchString(variable) || strings.HasSuffix(variable, "_PORT") && strings.Contains(text, "://")
		if !isOther && !isLink {
			l.unknownVariable(variable)
		}
	}
}

// unknownVariable reports a variable that is no setting: as a problem if it seems to be a mistake, because it belongs
// to a list or resembles a setting that is not given, and as a warning otherwise.
func (l *loader) unknownVariable(variable string) {
	const wantList = "set PROBER_TARGETS_0_URL, PROBER_OBJECTIVES_0_GOAL, …; docs/configuration.md lists them"
	name := strings.TrimPrefix(variable, prefix)
	near := l.nearVariable(name)
	isOfList := strings.HasPrefix(name, targetList+"_") || strings.HasPrefix(name, objectiveList+"_")
	if !printable(variable) {
		variable = quote(variable)
	}
	newName := renamedVariable(variable)
	switch {
	case newName != "":
		l.problems.Add(variable, "was renamed", "set "+newName)
	case slices.Contains([]string{"TARGET", "TARGETS", "OBJECTIVE", "OBJECTIVES"}, name):
		l.problems.Add(variable, "a list has no value of its own", wantList)
	case near != "":
		l.problems.Add(variable, "unknown variable (did you mean "+near+"?)", "")
	case name == "INTERVAL" || isOfList && strings.HasSuffix(name, "_INTERVAL"):
		l.problems.Add(variable, "unknown variable", intervalHint)
	case isOfList:
		l.problems.Add(variable, "unknown variable", wantList)
	default:
		l.warn(variable, "unknown variable, ignored")
	}
}

// renamed are the new names of settings by their old ones. The table is only read.
var renamed = map[string]string{"STAMP": "TIMESTAMPS"}

// renamedVariable returns the new name of a variable whose setting was renamed, for the prober or for a target; empty
// if it was not.
func renamedVariable(variable string) string {
	for old, setting := range renamed {
		before, isOld := strings.CutSuffix(variable, old)
		if isOld && (before == prefix || targetPrefix.MatchString(before)) {
			return before + setting
		}
	}
	return ""
}

var targetPrefix = regexp.MustCompile(`^PROBER_TARGETS_[0-9]+_$`)

// nearVariable returns the variable that a name, which lacks PROBER_, was probably meant to be. It is one that is not
// given; "" if none resembles the name.
func (l *loader) nearVariable(name string) string {
	_, isOwn := l.settings.own.find(name)
	if isOwn {
		return prefix + targetList + "_0_" + name
	}
	var names []string
	for variable := range l.known {
		if l.Environ[variable] == "" {
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
