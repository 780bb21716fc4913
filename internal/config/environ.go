package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// serviceLink matches what Kubernetes puts into the environment of every
// container for each Service, in the form of Docker links. A Service called
// prober makes variables that look like ours:
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
var serviceLink = regexp.MustCompile(`^PROBER(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// foreign reports whether a variable with our prefix comes from Kubernetes:
// it has the name of a service link, or is PROBER_…PORT with a URL in it.
func foreign(variable, text string) bool {
	return serviceLink.MatchString(variable) || strings.HasSuffix(variable, "_PORT") && strings.Contains(text, "://")
}

// environment reads the variables of ours.
func (l *loader) environment() layer {
	read := layer{values: values{}}
	lists := map[string]map[int]values{targetList: {}, objectiveList: {}}
	for _, variable := range slices.Sorted(maps.Keys(l.Environ)) {
		name, ours := strings.CutPrefix(variable, prefix)
		text := strings.TrimSpace(l.Environ[variable])
		if !ours || foreign(variable, text) {
			continue
		}
		list, index, k, ok := l.locate(name)
		switch {
		case !ok:
			l.unknown(variable, name)
		case text == "":
		case list == "":
			read.values[k.name] = l.take(k, variable, text)
		default:
			put(lists[list], index, k.name, l.take(k, variable, text))
		}
	}
	read.targets = l.number(targetList, "URL", lists[targetList])
	read.objectives = l.number(objectiveList, "SIGNAL", lists[objectiveList])
	return read
}

// The two lists, as variables spell them.
const (
	targetList    = "TARGETS"
	objectiveList = "OBJECTIVES"
)

// put makes v the value of name in the item at index.
func put(list map[int]values, index int, name string, v value) {
	if list[index] == nil {
		list[index] = values{}
	}
	list[index][name] = v
}

// locate finds the key of the variable called name, without prefix, and if it
// stands in a list, which and where.
func (l *loader) locate(name string) (list string, index int, k key, ok bool) {
	for list, scopes := range map[string][]scope{targetList: {targetScope, sharedScope}, objectiveList: {objectiveScope}} {
		if index, rest, ok := cutIndex(name, list); ok {
			k, ok = l.keys.find(rest, scopes...)
			return list, index, k, ok
		}
	}
	k, ok = l.keys.find(name, proberScope, sharedScope)
	return "", 0, k, ok
}

// cutIndex splits TARGETS_3_URL, with list TARGETS, into 3 and URL. An index
// has one spelling and at most six digits.
func cutIndex(name, list string) (index int, rest string, ok bool) {
	name, listed := strings.CutPrefix(name, list+"_")
	number, rest, more := strings.Cut(name, "_")
	index, err := strconv.Atoi(number)
	ok = listed && more && err == nil && len(number) <= 6 && strconv.Itoa(index) == number
	return index, rest, ok
}

// number makes items of the entries of a list. Where an index is missing it
// reports its main variable and closes the gap.
func (l *loader) number(list, main string, found map[int]values) []item {
	var items []item
	next := 0
	for _, index := range slices.Sorted(maps.Keys(found)) {
		place := func(index int) string { return fmt.Sprintf("%s%s_%d_", prefix, list, index) }
		if index != next {
			l.problem(place(next)+main, "not given, but "+place(index)+"… is", "number from 0 without a gap")
		}
		items = append(items, environmentItem(place(index), found[index]))
		next = index + 1
	}
	return items
}

// unknown reports a variable that is none of ours. One that looks like a slip is
// a problem; another may belong to something else that is called prober.
func (l *loader) unknown(variable, name string) {
	meant := l.meant(name)
	if meant == "" && !strings.HasPrefix(name, targetList+"_") && !strings.HasPrefix(name, objectiveList+"_") {
		l.warn(oneLine(variable), "unknown variable, ignored")
		return
	}
	l.problem(oneLine(variable), "unknown variable"+meant, "")
}

// meant suggests what an unknown variable should have been called.
func (l *loader) meant(name string) string {
	index := "0"
	if at := strings.IndexAny(name, "0123456789"); at >= 0 {
		n, _ := strconv.Atoi(name[at : at+digits(name[at:])])
		index = strconv.Itoa(n)
	}
	near, ok := targetList+"_0_"+name, true
	if _, own := l.keys.find(name, targetScope); !own {
		near, ok = Nearest(name, l.keys.variables(index))
	}
	if !ok {
		return ""
	}
	return " (did you mean " + prefix + near + "?)"
}

// variables returns the names of all variables, without prefix; those of lists
// with index.
func (s schema) variables(index string) []string {
	var names []string
	for _, k := range s {
		switch k.scope {
		case proberScope:
			names = append(names, k.name)
		case sharedScope:
			names = append(names, k.name, targetList+"_"+index+"_"+k.name)
		case targetScope:
			names = append(names, targetList+"_"+index+"_"+k.name)
		case objectiveScope:
			names = append(names, objectiveList+"_"+index+"_"+k.name)
		}
	}
	return names
}

// flags reads the overrides.
func (l *loader) flags() values {
	read := values{}
	for _, name := range slices.Sorted(maps.Keys(l.Overrides)) {
		k, ok := l.keys.find(name, proberScope, sharedScope, targetScope)
		word := "--" + flagName(name)
		if !ok || !k.flag() {
			l.problem(oneLine(word), "unknown flag", "")
			continue
		}
		read[name] = l.take(k, word, strings.TrimSpace(l.Overrides[name]))
	}
	return read
}

// arguments makes targets of the URLs that were given as arguments, each alone
// or as name=URL.
func (l *loader) arguments() []item {
	k, _ := l.keys.find("URL", targetScope)
	items := make([]item, len(l.URLs))
	for i, u := range l.URLs {
		word := fmt.Sprintf("URL argument %d", i+1)
		given := values{}
		if name, rest, named := strings.Cut(u, "="); named && !strings.Contains(name, "/") {
			n, _ := l.keys.find("NAME", targetScope)
			given[n.name], u = l.take(n, "name of "+word, strings.TrimSpace(name)), rest
		}
		given[k.name] = l.take(k, word, strings.TrimSpace(u))
		items[i] = argumentItem(given)
	}
	return items
}

// oneLine is s, in quotes if it would not print.
func oneLine(s string) string {
	if printable(s) {
		return s
	}
	return quote(s)
}

// flagName spells a key's name as a flag: PROMPT_TOKENS is prompt-tokens.
func flagName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}
