package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/usage"
)

// A source is one setting as it was given, or its default.
type source struct {
	text    string  // "": the default, or none
	label   string  // place for a problem with it: what was written and where
	bad     bool    // a problem with it was already reported
	assumed bool    // it was not given: it is the default
	below   *source // the one that it overrides; nil for none
}

// Values are settings by their names.
type values map[string]source

// has reports whether a setting was given, right or wrong, or has a default.
func (v values) has(name string) bool {
	_, ok := v[name]
	return ok
}

// given reports whether every name has a value and all of them are right.
func (v values) given(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !v.has(name) || v[name].bad })
}

// overlay lays values over each other, the last on top. A key and the file it is read from are one setting.
func overlay(layers ...values) values {
	all := values{}
	for _, over := range layers {
		if over.has("API_KEY") || over.has("API_KEY_FILE") {
			delete(all, "API_KEY")
			delete(all, "API_KEY_FILE")
		}
		for name, s := range over {
			if below, ok := all[name]; ok {
				s.below = &below
			}
			all[name] = s
		}
	}
	return all
}

// An item is one target or objective before it is typed.
type item struct {
	values
	setting func(name string) string // where the user would give the setting called name: PROBER_TARGETS_0_QPS, --qps, f.yaml:5: qps
}

// variables is what the environment says with names that begin so, still empty.
func variables(before string) item {
	return item{values: values{}, setting: func(name string) string { return before + name }}
}

// numbered is an entry of a list of the environment, still empty.
func numbered(list string, index int) item {
	return variables(fmt.Sprintf("%s%s_%d_", prefix, list, index))
}

// label is the place for a problem with the setting called name.
func (it item) label(name string) string {
	if it.has(name) {
		return it.values[name].label
	}
	return it.setting(name)
}

// origin is the place that its name comes from: that of the setting called other, if it has none.
func (it item) origin(other string) string {
	if it.given("NAME") {
		return it.label("NAME")
	}
	return it.label(other)
}

// A layer is what one source says.
type layer struct {
	values     // of the prober and, as defaults, of all targets
	targets    []item
	objectives []item
}

// serviceLink matches variables that Kubernetes makes for a Service called prober:
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
var serviceLink = regexp.MustCompile(`^PROBER(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// environment reads the variables of ours. A list ends before the first number that nothing is given for.
func (l *loader) environment() layer {
	known := map[string]bool{}
	read := func(it item, all keys) values {
		for _, k := range all {
			variable := it.setting(k.name)
			known[variable] = true
			if text := strings.TrimSpace(l.Environ[variable]); text != "" {
				it.values[k.name] = k.given(variable, text)
			}
		}
		return it.values
	}
	list := func(name string, all keys) (items []item) {
		for {
			it := numbered(name, len(items))
			if len(read(it, all)) == 0 {
				return items
			}
			items = append(items, it)
		}
	}
	found := layer{
		values:  read(variables(prefix), slices.Concat(l.prober, l.shared)),
		targets: list(targetList, l.target), objectives: list(objectiveList, l.objective),
	}
	for _, variable := range slices.Sorted(maps.Keys(l.Environ)) {
		text := strings.TrimSpace(l.Environ[variable])
		link := serviceLink.MatchString(variable) || strings.HasSuffix(variable, "_PORT") && strings.Contains(text, "://")
		if strings.HasPrefix(variable, prefix) && !known[variable] && !link && text != "" {
			l.unknownVariable(variable, known)
		}
	}
	return found
}

// unknownVariable reports a variable that is none of ours: a problem if it is of a list, or looks like one that is not given.
func (l *loader) unknownVariable(variable string, known map[string]bool) {
	var names []string
	for k := range known {
		if l.Environ[k] == "" {
			names = append(names, strings.TrimPrefix(k, prefix))
		}
	}
	slices.Sort(names)
	name := strings.TrimPrefix(variable, prefix)
	near := usage.Nearest(name, names)
	if _, own := l.own.find(name); own {
		near = targetList + "_0_" + name
	}
	if !printable(variable) {
		variable = quote(variable)
	}
	switch {
	case name == targetList || name == strings.TrimSuffix(targetList, "S"):
		l.problem(variable, "not a variable of its own: each target has numbered ones",
			"want PROBER_TARGETS_0_URL, PROBER_TARGETS_1_URL, …")
	case name == objectiveList || name == strings.TrimSuffix(objectiveList, "S"):
		l.problem(variable, "not a variable of its own: each objective has numbered ones",
			"want PROBER_OBJECTIVES_0_SIGNAL, PROBER_OBJECTIVES_0_LIMIT, PROBER_OBJECTIVES_0_GOAL, …")
	case name == "INTERVAL" || strings.HasPrefix(name, targetList+"_") && strings.HasSuffix(name, "_INTERVAL"):
		l.problem(variable, "unknown variable (did you mean "+strings.TrimSuffix(variable, "INTERVAL")+"QPS?)", intervalHint)
	case near != "":
		l.problem(variable, "unknown variable (did you mean "+prefix+near+"?)", "")
	case strings.HasPrefix(name, targetList+"_") || strings.HasPrefix(name, objectiveList+"_"):
		l.problem(variable, "unknown variable", "want a name of docs/configuration.md, and numbers from 0 without a gap")
	default:
		l.unknown = append(l.unknown, variable)
		l.warn(variable, "unknown variable, ignored")
	}
}

func (l *loader) flags() values {
	read, known := values{}, slices.Concat(l.prober, l.target)
	for name, text := range l.Overrides {
		if k, ok := known.find(name); ok && k.Flag != "" {
			read[name] = k.given("--"+k.Flag, strings.TrimSpace(text))
		}
	}
	return read
}

// arguments makes targets of the URLs that were given as arguments, each alone or as name=URL.
func (l *loader) arguments() (items []item) {
	keyURL, _ := l.own.find("URL")
	keyName, _ := l.own.find("NAME")
	for i, url := range l.URLs {
		it := item{values: values{}, setting: func(name string) string { return "--" + flagName(name) }}
		word := fmt.Sprintf("URL argument %d", i+1)
		name, rest, named := strings.Cut(url, "=")
		if name = strings.TrimSpace(name); named && name != "" && !strings.Contains(name, "/") {
			it.values["NAME"], url = keyName.given("name of "+word, name), rest
		}
		it.values["URL"] = keyURL.given(word, strings.TrimSpace(url))
		items = append(items, it)
	}
	return items
}

var webScheme = regexp.MustCompile(`^https?://`)

// given is text, which the user gave for k as word. Its label is word="text", or word alone if text may be secret.
func (k Key) given(word, text string) source {
	shown := text
	if k.name == "URL" && strings.ContainsAny(text, "@?#") { // it may hold credentials
		shown = webScheme.FindString(text) + "***"
	}
	if !k.secret {
		word += "=" + quote(shown)
	}
	return source{text: text, label: word}
}

// quote is s in quotes, without anything that would break the line, and of at most 80 characters.
func quote(s string) string { return strconv.Quote(format.Shorten(s, 80)) }
