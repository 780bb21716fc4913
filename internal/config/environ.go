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

// A layer is what one source says.
type layer struct {
	values     // of the prober and, as defaults, of all targets
	targets    []item
	objectives []item
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
		list, index, f, ok := l.locate(name)
		switch {
		case !ok:
			l.unknown(variable, name)
		case text == "":
		case list == "":
			read.values[f.name] = l.take(f, variable, text)
		default:
			if lists[list][index] == nil {
				lists[list][index] = values{}
			}
			lists[list][index][f.name] = l.take(f, variable, text)
		}
	}
	l.check(read.values, new(Config), proberScope)
	l.check(read.values, new(Settings), sharedScope)
	read.targets = l.number(targetList, "URL", lists[targetList])
	for _, it := range read.targets {
		l.check(it.values, new(Target), sharedScope, targetScope)
	}
	read.objectives = l.number(objectiveList, "SIGNAL", lists[objectiveList])
	for _, it := range read.objectives {
		l.check(it.values, new(Objective), objectiveScope)
	}
	return read
}

// locate finds the setting of the variable called name, without prefix, and if it
// stands in a list, which and where.
func (l *loader) locate(name string) (list string, index int, f field, ok bool) {
	for list, scopes := range map[string][]scope{targetList: {targetScope, sharedScope}, objectiveList: {objectiveScope}} {
		if index, rest, ok := cutIndex(name, list); ok {
			f, ok = l.schema.find(rest, scopes...)
			return list, index, f, ok
		}
	}
	f, ok = l.schema.find(name, proberScope, sharedScope)
	return "", 0, f, ok
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
		items = append(items, item{values: found[index], place: place(index), spell: asVariable})
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
	if _, own := l.schema.find(name, targetScope); !own {
		near, ok = Nearest(name, l.schema.variables(index))
	}
	if !ok {
		return ""
	}
	return " (did you mean " + prefix + near + "?)"
}

// flags reads the overrides.
func (l *loader) flags() values {
	read := values{}
	for _, name := range slices.Sorted(maps.Keys(l.Overrides)) {
		f, ok := l.schema.find(name, proberScope, sharedScope, targetScope)
		word := argumentPlace + flagName(name)
		if !ok || f.flag() == "" {
			l.problem(oneLine(word), "unknown flag", "")
			continue
		}
		read[name] = l.take(f, word, strings.TrimSpace(l.Overrides[name]))
	}
	l.check(read, new(Config), proberScope)
	l.check(read, new(Target), sharedScope, targetScope)
	return read
}

// arguments makes targets of the URLs that were given as arguments, each alone
// or as name=URL.
func (l *loader) arguments() []item {
	url, _ := l.schema.find("URL", targetScope)
	name, _ := l.schema.find("NAME", targetScope)
	items := make([]item, len(l.URLs))
	for i, text := range l.URLs {
		word := fmt.Sprintf("URL argument %d", i+1)
		given := values{}
		if before, rest, named := strings.Cut(text, "="); named && !strings.Contains(before, "/") {
			given["NAME"], text = l.take(name, "name of "+word, strings.TrimSpace(before)), rest
		}
		given["URL"] = l.take(url, word, strings.TrimSpace(text))
		l.check(given, new(Target), sharedScope, targetScope)
		items[i] = item{values: given, place: argumentPlace, spell: flagName}
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
