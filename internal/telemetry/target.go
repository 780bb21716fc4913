package telemetry

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// unknown is the label value of a model, API or server type that is not known yet.
const unknown = "unknown"

// clean returns t without secrets in its URL, and without an API where that is
// "auto".
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

// learn returns t with the model, the API and the source of timestamps of a result,
// where it has them. ok is false if that changes nothing.
func learn(t probe.Description, r *probe.Result) (now probe.Description, ok bool) {
	now = t
	now.Model, now.API, now.Stamp = cmp.Or(r.Model, t.Model), cmp.Or(r.API, t.API), cmp.Or(r.Stamp, t.Stamp)
	return now, now.Model != t.Model || now.API != t.API || now.Stamp != t.Stamp
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
	if port, err = strconv.Atoi(u.Port()); err == nil {
		return u.Hostname(), port
	}
	if u.Scheme == "https" {
		return u.Hostname(), 443
	}
	return u.Hostname(), 80
}

// shownURL is the scheme, host and path of a URL: the rest may be secret. It is
// empty for what is no URL.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return valid((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}

// valid makes a label value of any text: client_golang panics on one that is not
// UTF-8, and a model's name comes from a server.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// facts are what is known of a target when metrics are collected.
type facts struct {
	target                             probe.Description
	lastProbe, lastSuccess, certExpiry time.Time // zero if there was none yet
}

// inFlight is how many probes of the target are in flight, and the age of the oldest.
func (f facts) inFlight() (n int, age time.Duration) {
	if f.target.InFlight == nil {
		return 0, 0
	}
	n, oldest := f.target.InFlight()
	if n > 0 {
		age = max(0, time.Since(oldest))
	}
	return n, age
}

// note takes the facts from a result. Results may come out of order.
func (f *facts) note(r *probe.Result) {
	end := r.Start.Add(r.Elapsed)
	if end.After(f.lastProbe) {
		f.lastProbe = end
	}
	if r.Outcome == probe.OK && end.After(f.lastSuccess) {
		f.lastSuccess = end
	}
	if !r.CertExpiry.IsZero() {
		f.certExpiry = r.CertExpiry
	}
}
