package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

const (
	fetchLimit    = 10 * time.Second // bounds the time in which all sources answer
	maxList       = 10 << 20         // bytes of a list
	mostRedirects = 10               // as Prometheus and net/http follow
)

// A fetcher asks sources for their lists as Prometheus does, by the proxy of the environment:
// https://github.com/prometheus/prometheus/blob/main/discovery/http/http.go.
type fetcher struct {
	client *http.Client
	agent  string
}

// newFetcher returns a fetcher for a version of the prober that connects by dial; nil: over the network.
func newFetcher(dial probe.Dial, version string) *fetcher {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	transport := &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			proxy, err := http.ProxyFromEnvironment(req)
			if err != nil { // its text has the URL
				return nil, errors.New("the environment has no valid URL of a proxy")
			}
			return proxy, nil
		},
		DialContext:            dial,
		DisableKeepAlives:      true, // the next request is in a minute
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 1 << 20,
	}
	follow := func(req *http.Request, via []*http.Request) error {
		req.Header.Del("Referer") // it has the query, and with that perhaps a key
		if len(via) >= mostRedirects {
			return fmt.Errorf("more than %d redirects", mostRedirects)
		}
		return nil
	}
	return &fetcher{&http.Client{Transport: transport, CheckRedirect: follow}, userAgent(version)}
}

// fetch returns the list of a source. The error has no credentials.
func (f *fetcher) fetch(ctx context.Context, s config.HTTPSD) ([]listed, error) {
	body, err := f.get(ctx, s)
	if err == nil {
		return parseList(body)
	}
	failed, isOfURL := errors.AsType[*url.Error](err)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case isOfURL: // its text has the URL
		err = failed.Err
	}
	text := format.Redact(err.Error(), secretsOf(s.URL))
	return nil, errors.New(format.Shorten(format.Clean(text), 300))
}

// get asks a source, and returns the body of its answer. Credentials in the URL are sent as basic authentication.
func (f *fetcher) get(ctx context.Context, s config.HTTPSD) (body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL.Reveal(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", f.agent)
	req.Header.Set("X-Prometheus-Refresh-Interval-Seconds", strconv.FormatFloat(s.Refresh.Seconds(), 'f', -1, 64))
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %s", resp.Status)
	}
	contentType := resp.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(contentType)
	if media != "application/json" {
		return nil, fmt.Errorf("the content type is %q, and not application/json", contentType)
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxList+1))
	if len(body) > maxList {
		return nil, fmt.Errorf("the list has more than %d MiB", maxList>>20)
	}
	return body, err
}

// secretsOf returns what errors must not repeat of the URL of a source.
func secretsOf(u config.SourceURL) []string {
	parsed, err := url.Parse(u.Reveal())
	if err != nil {
		return nil
	}
	password, _ := parsed.User.Password()
	secrets := []string{password, parsed.User.Username(), parsed.RawQuery}
	for _, values := range parsed.Query() {
		secrets = append(secrets, values...)
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 3 }) // the text is full of them
}

// parseList reads a list, JSON of groups of addresses with their labels, and sorts it: a source may have another order
// each time. As with Prometheus, one group that is wrong makes the whole list wrong.
func parseList(body []byte) ([]listed, error) {
	var groups []*struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	err := json.Unmarshal(body, &groups)
	mistyped, isMistyped := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isMistyped:
		field := "the list"
		if mistyped.Field != "" {
			field = "the field " + mistyped.Field
		}
		kind, _, _ := strings.Cut(mistyped.Value, " ") // of a number also the number
		return nil, fmt.Errorf("%s has a value of the wrong type, %s; want a list of groups, each "+
			`{"targets": ["host:port"], "labels": {"name": "text"}}`, format.Clean(field), kind)
	case err != nil:
		return nil, fmt.Errorf("the list is not JSON: %w", err)
	case groups == nil:
		return nil, errors.New("the list is null; want [] if there are no targets")
	}
	all := []listed{}
	for _, g := range groups {
		if g == nil {
			return nil, errors.New("the list has null in place of a group")
		}
		for _, address := range g.Targets {
			all = append(all, listed{address, g.Labels})
		}
	}
	if len(all) > maxAddresses {
		return nil, fmt.Errorf("%d targets, and at most %d are probed", len(all), maxAddresses)
	}
	slices.SortStableFunc(all, func(a, b listed) int {
		return cmp.Or(strings.Compare(a.address, b.address), compareLabels(a.labels, b.labels))
	})
	return all, nil
}

// compareLabels orders labels in any way that is always the same.
func compareLabels(a, b map[string]string) int {
	pairs := func(labels map[string]string) (all []string) {
		for name, value := range labels {
			all = append(all, name+"\x00"+value)
		}
		slices.Sort(all)
		return all
	}
	if maps.Equal(a, b) {
		return 0
	}
	return slices.Compare(pairs(a), pairs(b))
}
