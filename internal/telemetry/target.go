package telemetry

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// A Build is which program this is.
type Build struct{ Version, Revision string }

// unknown is the label value of a model, an API or a server type that is not known yet.
const unknown = "unknown"

// clean returns t without secrets in its URL, and without an API where that is "auto".
func clean(t probe.Description) probe.Description {
	t.URL = shownURL(t.URL)
	if t.API == "auto" {
		t.API = ""
	}
	return t
}

// inherit returns t with what it leaves open taken from old, if that was the same
// server.
func inherit(t, old probe.Description) probe.Description {
	if t.URL == old.URL {
		t.Model, t.API, t.Server = cmp.Or(t.Model, old.Model), cmp.Or(t.API, old.API), cmp.Or(t.Server, old.Server)
		t.Stamp = cmp.Or(t.Stamp, old.Stamp)
	}
	return t
}

// labels are the values of [ScopeTarget]'s labels.
func labels(t probe.Description) []string {
	return []string{valid(t.Name), valid(cmp.Or(t.Model, unknown)), valid(t.Prompt)}
}

// serverOf returns the host and the port of a URL.
func serverOf(raw string) (host string, port int) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", 0
	}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return u.Hostname(), port
	}
	if u.Scheme == "https" {
		return u.Hostname(), 443
	}
	return u.Hostname(), 80
}

// shownURL strips what may be secret from a URL; what is no URL is not shown at
// all.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return valid(shown.String())
}

// valid makes a label value of any text: client_golang panics on one that is not
// UTF-8, and a model's name comes from a server.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// facts are what is known of a target when somebody collects.
type facts struct {
	target probe.Description
	since  time.Time // its series exist

	lastProbe, lastSuccess, certExpiry time.Time // zero if there was none yet
	skipped                            map[Skip]int

	inFlight int
	oldest   time.Duration // how long the oldest probe has been under way; 0 if none is
}

// note takes the facts from a result. Results may come out of order.
func (f *facts) note(r *probe.Result) {
	end := r.Timeline.Start.Add(r.Elapsed)
	f.lastProbe = later(f.lastProbe, end)
	if r.Outcome == probe.OK {
		f.lastSuccess = later(f.lastSuccess, end)
	}
	if !r.CertExpiry.IsZero() {
		f.certExpiry = r.CertExpiry
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// self is what the prober knows of itself when somebody collects.
type self struct {
	build Build
	since time.Time

	reloads    int       // attempts so far, the first load included
	reloadOK   bool      // the last one
	reloadedAt time.Time // last success; zero if there was none

	exportFailures uint64
	lookupFailures uint64
}
