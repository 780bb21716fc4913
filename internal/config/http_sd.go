package config

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/usage"
)

// listedName stands for the name of a target that a source lists, where its settings are judged before anybody has
// asked a source.
const listedName = "each of http_sd"

// schemeLabel is the label of an address for the scheme of its URL, as Prometheus has it.
const schemeLabel = "__scheme__"

// A SourceURL is the URL of a source of targets. It may hold credentials: it prints without them, and without its
// query.
type SourceURL struct{ text Secret }

// Reveal returns the URL with its credentials.
func (u SourceURL) Reveal() string { return u.text.Reveal() }

// String returns the URL as people may see it.
func (u SourceURL) String() string {
	parsed, err := url.Parse(u.Reveal())
	if err != nil {
		return ""
	}
	shown := url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}
	text := shown.String()
	if parsed.User != nil {
		text = strings.Replace(text, "://", "://***@", 1)
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" {
		text += "?***"
	}
	return text
}

// UnmarshalText reads an http or https URL, which may have credentials and a query.
func (u *SourceURL) UnmarshalText(text []byte) error {
	parsed, err := url.Parse(string(text))
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" {
		return usage.Problem{Text: "not an http or https URL"}
	}
	u.text = NewSecret(string(text))
	return nil
}

// A source is one entry of http_sd while it is read.
type source struct {
	settings *HTTPSD
	entry    *entry
}

// loadSources parses the sources of targets. URLs that are given as arguments replace them, as they replace targets.
func (l *loader) loadSources(shared *entry) {
	if len(l.options.URLs) > 0 {
		return
	}
	for _, e := range shared.entries[l.schema.source] {
		e.parse()
		l.sources = append(l.sources, &source{settings: e.settings.(*HTTPSD), entry: e})
	}
}

// listedEntry returns the entry of the targets that sources list. Nothing is written for them alone: what all targets
// share, flags and defaults make them.
func (l *loader) listedEntry() *entry {
	ofAll := variableAt(prefix)
	e := newEntry(l.schema.target, func(k Key) place {
		if k.Shared {
			return ofAll(k)
		}
		return flagPlace(k)
	})
	e.title = listedName
	return e
}

// validateSources judges whether each source has a URL of its own.
func (l *loader) validateSources() {
	places := map[string]string{} // by URL
	for _, s := range l.sources {
		u, e := &s.settings.URL, s.entry
		earlier, isTaken := places[u.Reveal()]
		switch {
		case !e.right(u):
		case !e.given(u):
			e.problem(u, "not given", "a source of targets needs a URL")
		case isTaken:
			e.problem(u, "is the same as "+earlier, "leave one of them out")
		default:
			places[u.Reveal()] = e.values[e.key(u).name].place.phrase()
		}
	}
}

// Listed returns the target of an address that a source lists with labels: host:port, or a URL. It has the settings
// that all targets share. It takes the labels that the configuration declares: see [Config.LabelNames]. Names of others
// are in dropped, sorted. If there are problems, the target cannot be probed, and has only a name and labels.
func (c *Config) Listed(s HTTPSD, address string, labels map[string]string) (
	t Target, dropped []string, problems usage.Problems,
) {
	t = c.Shared
	t.Name = nameOfAddress(address)
	t.Group = cmp.Or(t.Group, t.Name)
	place := "http_sd " + s.URL.String()
	own := Labels{}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !slices.Contains(c.LabelNames, name) {
			if name != schemeLabel {
				dropped = append(dropped, name)
			}
			continue
		}
		wrong, isWrong := errors.AsType[usage.Problem](own.add(name, labels[name]))
		if isWrong {
			problems.Add(place, quote(t.Name)+": the label: "+wrong.Text, wrong.Hint)
		}
	}
	if len(own) > 0 {
		t.Labels = maps.Clone(t.Labels)
		if t.Labels == nil {
			t.Labels = Labels{}
		}
		maps.Copy(t.Labels, own)
	}

	base := address
	if !strings.Contains(base, "://") {
		base = cmp.Or(labels[schemeLabel], "http") + "://" + base
	}
	base, each, err := parseURL(base)
	wrong, isWrong := errors.AsType[usage.Problem](err)
	switch {
	case isWrong:
		problems.Add(place, quote(t.Name)+" cannot be a target: "+wrong.Text, wrong.Hint)
	case each:
		problems.Add(place, quote(t.Name)+" cannot be a target: has dns+ before it", "list the addresses themselves")
	case !printable(address), !shortName.MatchString(address):
		problems.Add(place, quote(t.Name)+" cannot be a target: not 1 to 100 printable characters", "")
	}
	if len(problems) > 0 {
		return Target{Name: t.Name, Labels: t.Labels}, dropped, problems
	}
	found := endpoint.FindStringSubmatch(base)
	if found != nil && t.Path == "" {
		base = found[1]
	}
	t.URL = base
	return t, dropped, nil
}

// nameOfAddress returns an address as it can be shown: without what may be credentials, as the name of a target.
func nameOfAddress(address string) string {
	scheme, rest, hasScheme := strings.Cut(address, "://")
	if !hasScheme {
		scheme, rest = "", address
	} else {
		scheme += "://"
	}
	user := strings.LastIndex(rest, "@") // ends what may be credentials
	query := strings.IndexAny(rest, "?#")
	switch {
	case query >= 0 && query < user: // nobody knows where the host is
		rest = "***"
	case query >= 0:
		rest = rest[:query] + "?***"
	}
	if user >= 0 && rest != "***" {
		rest = "***" + rest[user:]
	}
	return cmp.Or(format.Shorten(format.Clean(scheme+rest), 100), "(empty)")
}
