package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// serviceLink matches variables that Kubernetes makes for a Service called prober:
	// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
	serviceLink = regexp.MustCompile(`^PROBER(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

	// listed matches the variables of lists, without prefix. An index has one spelling.
	listed = regexp.MustCompile(`^(` + targetList + `|` + objectiveList + `)_(0|[1-9][0-9]{0,5})_(.*)$`)
	number = regexp.MustCompile(`[0-9]+`)
)

// environment reads the variables of ours.
func (l *loader) environment() layer {
	read, alone := layer{values: values{}}, slices.Concat(l.prober, l.shared)
	lists := map[string]map[int]values{targetList: {}, objectiveList: {}}
	for _, variable := range slices.Sorted(maps.Keys(l.Environ)) {
		name, ours := strings.CutPrefix(variable, prefix)
		text := strings.TrimSpace(l.Environ[variable])
		link := serviceLink.MatchString(variable) || strings.HasSuffix(variable, "_PORT") && strings.Contains(text, "://")
		if !ours || link {
			continue
		}
		k, ok := alone.find(name)
		found := listed.FindStringSubmatch(name)
		if found != nil {
			k, ok = l.entries[found[1]].find(found[3])
		}
		switch {
		case !ok:
			l.unknownVariable(variable, name)
		case text == "":
		case found == nil:
			read.values[name] = k.given(variable, text)
		default:
			index, _ := strconv.Atoi(found[2])
			if lists[found[1]][index] == nil {
				lists[found[1]][index] = values{}
			}
			lists[found[1]][index][found[3]] = k.given(variable, text)
		}
	}
	l.check(read.values, l.prober)
	l.check(read.values, l.shared)
	read.targets = l.numbered(targetList, "URL", lists[targetList])
	read.objectives = l.numbered(objectiveList, "SIGNAL", lists[objectiveList])
	return read
}

// numbered makes items of the entries of a list. Where an index is missing it
// reports its main variable and closes the gap.
func (l *loader) numbered(list, main string, found map[int]values) (items []item) {
	next := 0
	for _, index := range slices.Sorted(maps.Keys(found)) {
		place := func(index int) string { return fmt.Sprintf("%s%s_%d_", prefix, list, index) }
		if index != next {
			l.problem(place(next)+main, "not given, but "+place(index)+"… is", "number from 0 without a gap")
		}
		l.check(found[index], l.entries[list])
		items = append(items, item{values: found[index], place: place(index)})
		next = index + 1
	}
	return items
}

// unknownVariable reports a variable that is none of ours. One that looks misspelt is a
// problem; another may belong to something else that is called prober.
func (l *loader) unknownVariable(variable, name string) {
	place := oneLine(variable)
	index := "0"
	if found := number.FindString(name); found != "" {
		n, _ := strconv.Atoi(found)
		index = strconv.Itoa(n)
	}
	near := targetList + "_0_" + name
	if _, own := l.target.find(name); !own {
		var known []string
		for _, k := range l.all() {
			known = append(known, strings.Replace(strings.TrimPrefix(k.Variable, prefix), "_n_", "_"+index+"_", 1))
		}
		for _, k := range l.shared {
			known = append(known, targetList+"_"+index+"_"+k.name)
		}
		near = Nearest(name, known)
	}
	switch {
	case near != "":
		l.problem(place, "unknown variable (did you mean "+prefix+near+"?)", "")
	case strings.HasPrefix(name, targetList+"_") || strings.HasPrefix(name, objectiveList+"_"):
		l.problem(place, "unknown variable", "")
	default:
		l.unknown = append(l.unknown, place)
		l.warn(place, "unknown variable, ignored")
	}
}

// flags reads the overrides.
func (l *loader) flags() values {
	read := values{}
	for _, name := range slices.Sorted(maps.Keys(l.Overrides)) {
		k, ok := slices.Concat(l.prober, l.targets).find(name)
		word := argumentPlace + flagName(name)
		if !ok || k.Flag == "" {
			l.problem(oneLine(word), "unknown flag", "")
			continue
		}
		read[name] = k.given(word, strings.TrimSpace(l.Overrides[name]))
	}
	l.check(read, l.prober)
	l.check(read, l.targets)
	return read
}

// arguments makes targets of the URLs that were given as arguments, each alone
// or as name=URL.
func (l *loader) arguments() (items []item) {
	url, _ := l.target.find("URL")
	name, _ := l.target.find("NAME")
	for i, text := range l.URLs {
		word := fmt.Sprintf("URL argument %d", i+1)
		given := values{}
		if before, rest, named := strings.Cut(text, "="); named && !strings.Contains(before, "/") {
			given["NAME"], text = name.given("name of "+word, strings.TrimSpace(before)), rest
		}
		given["URL"] = url.given(word, strings.TrimSpace(text))
		l.check(given, l.targets)
		items = append(items, item{values: given, place: argumentPlace})
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
