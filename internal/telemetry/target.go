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

func labels(t probe.Description) []string {
	return []string{valid(t.Name), valid(cmp.Or(t.Model, unknown)), valid(t.Prompt)}
}

func serverOf(raw string) (host string, port int) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", 0
	}
	byScheme := "80"
	if u.Scheme == "https" {
		byScheme = "443"
	}
	port, _ = strconv.Atoi(cmp.Or(u.Port(), byScheme)) // [url.Parse] takes no port but a number
	return u.Hostname(), port
}

// shownURL is the scheme, host and path of a URL: the rest may be secret. It is empty for what is no URL.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return valid((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}

// valid makes a label value, which must be UTF-8, of any text, such as a model's name from a server.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
