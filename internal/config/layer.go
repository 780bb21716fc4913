package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/usage"
)

// A value is what one source says about a setting, and where.
type value struct {
	text  string // "" stands for the default
	place string // PROBER_TARGETS_3_QPS, --qps, f.yaml:5: qps
	below *value // of labels: what another source says, to which they are added; nil: no other does
}

// A layer is what one source says, by the names of settings. A source is the variables with one prefix, a mapping of
// the targets file, or the flags.
type layer map[string]value

// merge returns what several layers say together. A later layer replaces an earlier one, except for labels, which are
// added to those of the earlier one. API_KEY and API_KEY_FILE count as one setting: either replaces both.
func merge(layers ...layer) layer {
	all := layer{}
	for _, over := range layers {
		if _, ok := over["API_KEY"]; ok {
			delete(all, "API_KEY_FILE")
		}
		if _, ok := over["API_KEY_FILE"]; ok {
			delete(all, "API_KEY")
		}
		labels, earlier := over[labelsName], all[labelsName]
		maps.Copy(all, over)
		if labels.text != "" && earlier.text != "" {
			labels.below = &earlier
			all[labelsName] = labels
		}
	}
	return all
}

// An origin holds the sources of the settings of one struct, and what is wrong with them.
type origin struct {
	says     layer                    // what all sources say together
	at       func(name string) string // returns where a user would write a setting: PROBER_TARGETS_3_QPS
	entry    string                   // the entry of a list that it is: PROBER_TARGETS_3, f.yaml:5
	naming   string                   // a hint: how a user gives the entry a name
	keys     keys                     // all settings of the struct
	wrong    map[string]bool          // names of settings with a problem
	problems usage.Problems

	objectives []*origin // of a target: those that it has itself
}

func newOrigin(ks keys, at func(name string) string) *origin {
	return &origin{says: layer{}, at: at, keys: ks, wrong: map[string]bool{}}
}

// parse fills a struct with what o says, and with defaults for the rest. It reports wrong values and leaves them zero.
func (o *origin) parse(into any) {
	environment := map[string]string{}
	for _, k := range o.keys {
		text := o.says[k.name].text
		if !k.isNone(text) && k.name != labelsName {
			environment[k.name] = text
		}
	}
	failed := map[string]error{} // by name of the field
	err := env.ParseWithOptions(into, env.Options{Environment: environment, FuncMap: parsers()})
	aggregate, _ := errors.AsType[env.AggregateError](err)
	for _, err := range aggregate.Errors {
		failure, ok := errors.AsType[env.ParseError](err)
		if !ok {
			panic(err) // a tag or a type that env does not know
		}
		failed[failure.Name] = failure.Err
	}
	for _, k := range o.keys {
		text := o.says[k.name].text
		switch {
		case k.name == labelsName:
			o.mergeLabels(into, k)
		case k.isNone(text):
			k.clear(into)
		case text != "":
			o.judge(into, k, text, failed[k.field])
		}
	}
}

// judge reports a value that is wrong by itself. err is the reason why it could not be parsed, if it could not.
func (o *origin) judge(into any, k Key, text string, err error) {
	wrong, isWrong := k.check(into, text, err)
	if isWrong {
		o.problem(k.name, wrong.Text, wrong.Hint)
		k.clear(into)
	}
}

// given reports whether a user wrote a value for the setting, right or wrong.
func (o *origin) given(name string) bool { return o.says[name].text != "" }

// right reports whether the settings, which may have their defaults, have no problem so far.
func (o *origin) right(names ...string) bool {
	for _, name := range names {
		if o.wrong[name] {
			return false
		}
	}
	return true
}

// written returns the value of a setting as it is written, or its default.
func (o *origin) written(name string) string {
	if o.given(name) {
		return o.says[name].text
	}
	k, _ := o.keys.find(name)
	return k.Default + " (default)"
}

// label returns the place for a problem with a setting: what is written and where.
func (o *origin) label(name string) string {
	k, _ := o.keys.find(name)
	switch {
	case o.given(name):
		return k.label(o.says[name])
	case k.Default != "":
		return fmt.Sprintf("%s=%q (default)", k.Variable, k.Default)
	}
	return o.at(name)
}

// places returns where each setting of a target is written, or would be, by its key in the targets file. Those that a
// user of this source cannot write are left out.
func (o *origin) places() map[string]string {
	places := map[string]string{}
	for _, k := range o.keys {
		place := o.at(k.name)
		if o.given(k.name) {
			place = o.says[k.name].place
		}
		if k.Flag == "" && strings.HasPrefix(place, "--") {
			continue
		}
		file, isKey := strings.CutSuffix(place, ": "+k.fileKey())
		if isKey {
			place = k.fileKey() + " in " + file
		}
		places[k.fileKey()] = place
	}
	hasKey := o.given("API_KEY") || places["api_key_file"] == ""
	if !hasKey { // secrets belong in a file
		places["api_key"] = places["api_key_file"]
	}
	return places
}

// nameLabel returns the place where the name of o was written. Without a name, it is that of the setting other.
func (o *origin) nameLabel(other string) string {
	if o.given("NAME") {
		return o.label("NAME")
	}
	return o.label(other)
}

// nameTaken reports that the name of o belongs to an earlier entry. If no name was written, it comes from the setting
// other.
func (o *origin) nameTaken(name string, earlier *origin, other string) {
	text := fmt.Sprintf("the name %s is already taken by %s", quote(name), earlier.nameLabel(other))
	o.problems.Add(o.nameLabel(other), text, o.naming)
}

// problem reports what is wrong with a setting, at its place.
func (o *origin) problem(name, text, hint string) {
	o.problems.Add(o.label(name), text, hint)
	o.wrong[name] = true
}

var webScheme = regexp.MustCompile(`^https?://`)

// label returns what is written and where: place="text", or place alone if the text may be secret.
func (k Key) label(v value) string {
	if k.secret {
		return v.place
	}
	text := v.text
	if strings.HasSuffix(k.name, "URL") && strings.ContainsAny(text, "@?#") { // it may hold credentials
		text = webScheme.FindString(text) + "***"
	}
	return v.place + "=" + quote(text)
}

// quote returns s in quotes, without anything that would break the line, and of at most 80 characters.
func quote(s string) string { return strconv.Quote(format.Shorten(s, 80)) }
