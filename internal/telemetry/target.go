package telemetry

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// unknown is the label value of a model, API or server type that is not known yet.
const unknown = "unknown"

// targetLabels returns the labels that every series of a target has besides the vantage and configured ones: target,
// model and prompt.
func targetLabels(t probe.Description) []string {
	return []string{toValidUTF8(t.Name), toValidUTF8(cmp.Or(t.Model, unknown)), toValidUTF8(t.Prompt)}
}

// serverOf returns the host and the port of a URL; empty and 0 if it is not valid.
func serverOf(raw string) (host string, port int) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", 0
	}
	defaultPort := "80"
	if u.Scheme == "https" {
		defaultPort = "443"
	}
	port, _ = strconv.Atoi(cmp.Or(u.Port(), defaultPort)) // [url.Parse] accepts only numbers
	return u.Hostname(), port
}

// withoutSecrets returns the scheme, host and path of a URL, since the rest may be secret. It returns an empty text if
// the URL is not valid.
func withoutSecrets(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return toValidUTF8(shown.String())
}

// toValidUTF8 returns text as a label value, which must be UTF-8. The text may be anything, such as the name of a model
// that a server sent.
func toValidUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
