package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// overlay lays values over each other, the last on top. A key and the file it is
// read from are one setting: either of them replaces both.
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
	line   string              // of the targets file, "targets.yaml:5: "; "" elsewhere
	before string              // stands before the names of its settings: "PROBER_TARGETS_0_", "--" or, in the file, ""
	spell  func(string) string // how the user would write the name of a setting
}

// variables is an entry of a list of the environment, still empty.
func variables(list string, index int) item {
	return item{values: values{}, before: fmt.Sprintf("%s%s_%d_", prefix, list, index), spell: strings.ToUpper}
}

// setting is how the user would give the setting called name.
func (it item) setting(name string) string { return it.before + it.spell(name) }

// label is the place for a problem with the setting called name.
func (it item) label(name string) string {
	if it.has(name) {
		return it.values[name].label
	}
	return it.line + it.setting(name)
}

// origin is the place that its name comes from: that of the setting called other, if it has none of its own.
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

var (
	// serviceLink matches variables that Kubernetes makes for a Service called prober:
	// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
	serviceLink = regexp.MustCompile(`^PROBER(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

	// parts matches every variable without prefix: list and index, if it belongs to one, and name. An index has one spelling.
	parts  = regexp.MustCompile(`(?s)^(?:(` + targetList + `|` + objectiveList + `)_(0|[1-9][0-9]{0,5})_)?(.*)$`)
	number = regexp.MustCompile(`[0-9]+`)
)

// environment reads the variables of ours.
func (l *loader) environment() layer {
	known := map[string]keys{"": slices.Concat(l.prober, l.shared), targetList: l.target, objectiveList: l.objective}
	read := map[string]map[int]values{"": {}, targetList: {}, objectiveList: {}}
	for _, variable := range slices.Sorted(maps.Keys(l.Environ)) {
		name, ours := strings.CutPrefix(variable, prefix)
		text := strings.TrimSpace(l.Environ[variable])
		link := serviceLink.MatchString(variable) || strings.HasSuffix(variable, "_PORT") && strings.Contains(text, "://")
		if !ours || link {
			continue
		}
		found := parts.FindStringSubmatch(name)
		list, entries := known[found[1]], read[found[1]]
		k, ok := list.find(found[3])
		if !ok {
			l.unknownVariable(variable, name)
		} else if text != "" {
			index, _ := strconv.Atoi(found[2]) // 0 outside of lists
			if entries[index] == nil {
				entries[index] = values{}
			}
			entries[index][k.name] = k.given(variable, text)
		}
	}
	return layer{
		values:     read[""][0],
		targets:    l.numbered(targetList, "URL", read[targetList]),
		objectives: l.numbered(objectiveList, "SIGNAL", read[objectiveList]),
	}
}

// numbered makes items of the entries of a list. Where an index is missing it
// reports its main variable and closes the gap.
func (l *loader) numbered(list, main string, entries map[int]values) (items []item) {
	next := 0
	for _, index := range slices.Sorted(maps.Keys(entries)) {
		it := variables(list, index)
		if index != next {
			l.problem(variables(list, next).label(main), "not given, but "+it.before+"… is", "number from 0 without a gap")
		}
		it.values = entries[index]
		items = append(items, it)
		next = index + 1
	}
	return items
}

// unknownVariable reports a variable that is none of ours. One that looks misspelt is a
// problem; another may belong to something else that is called prober.
func (l *loader) unknownVariable(variable, name string) {
	if !printable(variable) {
		variable = quote(variable)
	}
	near := targetList + "_0_" + name
	if _, own := l.own.find(name); !own {
		index, _ := strconv.Atoi(number.FindString(name)) // 0 without
		var known []string
		for _, k := range slices.Concat(l.prober, l.shared) {
			known = append(known, k.name)
		}
		for _, k := range l.target {
			known = append(known, fmt.Sprintf("%s_%d_%s", targetList, index, k.name))
		}
		for _, k := range l.objective {
			known = append(known, fmt.Sprintf("%s_%d_%s", objectiveList, index, k.name))
		}
		near = Nearest(name, known)
	}
	switch {
	case near != "":
		l.problem(variable, "unknown variable (did you mean "+prefix+near+"?)", "")
	case strings.HasPrefix(name, targetList+"_") || strings.HasPrefix(name, objectiveList+"_"):
		l.problem(variable, "unknown variable", "")
	default:
		l.unknown = append(l.unknown, variable)
		l.warn(variable, "unknown variable, ignored")
	}
}

const dashes = "--" // before the settings of targets that are arguments

// flags reads the overrides.
func (l *loader) flags() values {
	read, known := values{}, slices.Concat(l.prober, l.target)
	for name, text := range l.Overrides {
		if k, ok := known.find(name); ok {
			read[name] = k.given(dashes+k.Flag, strings.TrimSpace(text))
		}
	}
	return read
}

// arguments makes targets of the URLs that were given as arguments, each alone
// or as name=URL.
func (l *loader) arguments() (items []item) {
	keyURL, _ := l.own.find("URL")
	keyName, _ := l.own.find("NAME")
	for i, url := range l.URLs {
		it := item{values: values{}, before: dashes, spell: flagName}
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

// given is text, which the user gave for k as word. Its label is word="text", or word alone if
// text may be secret.
func (k Key) given(word, text string) source {
	shown := text
	if k.name == "URL" && strings.ContainsAny(text, "@?#") { // it may hold credentials
		shown = webScheme.FindString(text) + "***"
	}
	if !k.Secret {
		word += "=" + quote(shown)
	}
	return source{text: text, label: word}
}

// quote is s in quotes, without anything that would break the line, and cut
// after 80 characters.
func quote(s string) string {
	if short := fmt.Sprintf("%.80s", s); short != s {
		s = short + "…"
	}
	return strconv.Quote(s)
}
