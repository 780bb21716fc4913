package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/usage"
)

// variableList returns what the numbered variables of a list say, up to the first number that nothing is given for.
func (l *loader) variableList(list string, ks keys) (entries []*source) {
	for {
		s := l.variables(fmt.Sprintf("%s%s_%d_", prefix, list, len(entries)), ks)
		if len(s.values) == 0 {
			return entries
		}
		entries = append(entries, s)
	}
}

// arguments makes targets of the URLs that were given as arguments, each alone or as name=URL.
func (l *loader) arguments() (targets []*source) {
	for i, url := range l.URLs {
		argument := fmt.Sprintf("URL argument %d", i+1)
		s := newSource("", nil)
		s.place = func(name string) string {
			_, written := s.values[name]
			switch {
			case name == "URL":
				return argument
			case name == "NAME" && written:
				return "name of " + argument
			}
			return "--" + flagName(name)
		}
		name, rest, named := strings.Cut(url, "=")
		name = strings.TrimSpace(name)
		if named && name != "" && !strings.Contains(name, "/") {
			s.values["NAME"], url = name, rest
		}
		s.values["URL"] = strings.TrimSpace(url)
		targets = append(targets, s)
	}
	return targets
}

// serviceLink matches variables that Kubernetes makes for a Service called prober:
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
var serviceLink = regexp.MustCompile(`^PROBER(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// unknownVariables reports the variables that begin with PROBER_ and are not known.
func (l *loader) unknownVariables() {
	for _, variable := range slices.Sorted(maps.Keys(l.Environ)) {
		text := strings.TrimSpace(l.Environ[variable])
		link := serviceLink.MatchString(variable) || strings.HasSuffix(variable, "_PORT") && strings.Contains(text, "://")
		if strings.HasPrefix(variable, prefix) && !l.known[variable] && !link && text != "" {
			l.unknownVariable(variable)
		}
	}
}

// unknownVariable reports one: as a problem if it is of a list, or looks like one that is not given.
func (l *loader) unknownVariable(variable string) {
	name := strings.TrimPrefix(variable, prefix)
	near := l.nearVariable(name)
	if !printable(variable) {
		variable = quote(variable)
	}
	ofTargets, ofObjectives := strings.HasPrefix(name, targetList+"_"), strings.HasPrefix(name, objectiveList+"_")
	switch {
	case name == targetList || name == strings.TrimSuffix(targetList, "S"):
		l.problem(variable, "not a variable of its own: each target has numbered ones",
			"want PROBER_TARGETS_0_URL, PROBER_TARGETS_1_URL, …")
	case name == objectiveList || name == strings.TrimSuffix(objectiveList, "S"):
		l.problem(variable, "not a variable of its own: each objective has numbered ones",
			"want PROBER_OBJECTIVES_0_SIGNAL, PROBER_OBJECTIVES_0_LIMIT, PROBER_OBJECTIVES_0_GOAL, …")
	case name == "INTERVAL" || ofTargets && strings.HasSuffix(name, "_INTERVAL"):
		l.problem(variable, "unknown variable (did you mean "+strings.TrimSuffix(variable, "INTERVAL")+"QPS?)", intervalHint)
	case near != "":
		l.problem(variable, "unknown variable (did you mean "+near+"?)", "")
	case ofTargets || ofObjectives:
		l.problem(variable, "unknown variable", "want a name of docs/configuration.md, and numbers from 0 without a gap")
	default:
		l.unknown = append(l.unknown, variable)
		l.warn(variable, "unknown variable, ignored")
	}
}

// nearVariable returns the variable that name, without PROBER_, probably stands for, among those that are not given.
// Without one it returns "".
func (l *loader) nearVariable(name string) string {
	if _, own := l.own.find(name); own {
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
