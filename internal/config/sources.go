package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// A source is one place where settings are written: the variables with a prefix, the flags, an argument, or a mapping
// of the targets file. It fills a struct as an environment of caarlos0/env.
type source struct {
	values map[string]string        // what is written, by prefix + name of the setting; "" stands for the default
	prefix string                   // PROBER_TARGETS_3_; "" but for variables
	place  func(name string) string // how the user writes the setting: PROBER_TARGETS_3_QPS, --qps, f.yaml:5: qps
	whole  bool                     // place tells the values, too
	lines  map[string]int           // on which line of the targets file each setting is; nil elsewhere
	folder string                   // to which files are relative; "" is the working directory
	wrong  map[string]bool          // names of settings with a problem that was reported
}

func newSource(prefix string, place func(name string) string) *source {
	return &source{values: map[string]string{}, prefix: prefix, place: place, wrong: map[string]bool{}}
}

// text returns what is written for a setting. ok is false if nothing is.
func (s *source) text(name string) (text string, ok bool) {
	text, ok = s.values[s.prefix+name]
	return text, ok
}

// An origin is where the settings of one struct are from.
type origin struct {
	own     *source   // the one that is closest to the struct
	sources []*source // all, the strongest first
	keys    keys      // all that the struct has
}

// find returns the source that decides a setting, and what it says. The source is nil if none says anything.
func (o origin) find(name string) (from *source, text string) {
	for _, s := range o.sources {
		if text, ok := s.text(name); ok {
			return s, text
		}
	}
	return nil, ""
}

// given reports whether somebody wrote a value for the setting, right or wrong.
func (o origin) given(name string) bool {
	_, text := o.find(name)
	return text != ""
}

// right reports whether the settings have no problem yet. They may be defaults.
func (o origin) right(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		from, _ := o.find(name)
		return from != nil && from.wrong[name]
	})
}

// written returns the value of a setting as it is written, or its default.
func (o origin) written(name string) string {
	if _, text := o.find(name); text != "" {
		return text
	}
	k, _ := o.keys.find(name)
	return k.Default
}

// setting returns how the user would write the setting at the place that is closest to the struct: PROBER_TARGETS_3_QPS.
func (o origin) setting(name string) string { return o.own.place(name) }

// label returns the place for a problem with a setting: what is written and where.
func (o origin) label(name string) string {
	k, _ := o.keys.find(name)
	from, text := o.find(name)
	switch {
	case from != nil && text != "":
		return k.label(from, text)
	case k.Default != "":
		return fmt.Sprintf("%s=%q (default)", k.Variable, k.Default)
	}
	return o.setting(name)
}

// nameLabel returns the place that a name is from: that of the setting called other, if none was given.
func (o origin) nameLabel(other string) string {
	if o.given("NAME") {
		return o.label("NAME")
	}
	return o.label(other)
}

var webScheme = regexp.MustCompile(`^https?://`)

// label returns what is written in a source, and where: place="text", or place alone if the text may be secret.
func (k Key) label(from *source, text string) string {
	place := from.place(k.name)
	if k.secret || from.whole {
		return place
	}
	if k.name == "URL" && strings.ContainsAny(text, "@?#") { // it may hold credentials
		text = webScheme.FindString(text) + "***"
	}
	return place + "=" + quote(text)
}

// quote returns s in quotes, without anything that would break the line, and of at most 80 characters.
func quote(s string) string { return strconv.Quote(format.Shorten(s, 80)) }

// locate makes a path that is written in the targets file begin at its folder.
func (s *source) locate(path reflect.Value, k Key) {
	if k.Type == "file" && s.folder != "" && path.String() != "" && !filepath.IsAbs(path.String()) {
		path.SetString(filepath.Join(s.folder, path.String()))
	}
}
