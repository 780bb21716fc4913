package engine

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/wire"
)

// Assemble makes a job of each group, in the order of the targets. A nil dial connects over the network; version is the
// prober's, for the User-Agent. A server is not asked again how it counts tokens if the book knows it.
func Assemble(
	targets []config.Target, f *files.Files, book *length.Book, dial probe.Dial, version string,
) ([]*Job, error) {
	var jobs []*Job
	byGroup := map[string]*Job{}
	clients := tokenClients{}
	for _, t := range targets {
		j := byGroup[t.Group]
		if j == nil {
			j = &Job{
				Plan:   schedule.Plan{Interval: t.Interval(), Pattern: schedule.Pattern(t.Arrival), Name: t.Group},
				log:    zap.NewNop(),
				panics: observe.PanicLog{Log: zap.NewNop()},
			}
			byGroup[t.Group] = j
			jobs = append(jobs, j)
		}
		target, err := probeTarget(t, f, dial, version)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", t.Name, err)
		}
		target.Tokens, err = clients.clientOf(t, f, dial)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", t.Name, err)
		}
		j.Targets = append(j.Targets, t)
		j.Members = append(j.Members, probe.NewMember(target, t.Model, t.MaxInFlight))
		j.hashes = append(j.hashes, f.Hashes(t)...)
	}
	seed := rand.Uint64() // so that no two runs send the same prompts
	for _, j := range jobs {
		err := j.assemblePrompts(f, book, seed)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", j.Targets[0].Name, err)
		}
	}
	return jobs, nil
}

// assemblePrompts makes what the members of j are asked.
func (j *Job) assemblePrompts(f *files.Files, book *length.Book, seed uint64) error {
	t := j.Targets[0] // the others have the same prompts
	kinds := kindsOf(j.Targets)
	var prompts []*length.Questions
	var shares []int
	for i, p := range t.Prompts {
		asked := t.OfPrompt(i)
		options, err := promptOptions(asked, f, seed)
		if err != nil {
			return err
		}
		prompts = append(prompts, length.New(length.Options{
			Name: p.Name, Prompts: options, Members: j.Members, Kinds: kinds, Every: asked.Interval(),
			Events: func(e length.Event) { j.noteLength(p.Name, e) },
		}, book))
		shares = append(shares, p.Share)
		j.meanTokens = append(j.meanTokens, options.Mean())
	}
	j.Length = length.NewRotation(prompts, shares)
	return nil
}

// probeTarget returns what is asked for t, with the files that t names.
func probeTarget(t config.Target, f *files.Files, dial probe.Dial, version string) (probe.Target, error) {
	security, err := f.TLS(t)
	if err != nil {
		return probe.Target{}, err
	}
	target := probe.Target{
		Name: t.Name, Group: t.Group, URL: t.URL, Path: t.Path,
		Key: t.APIKey.Reveal(), Header: http.Header{},
		Agent: userAgent(version),
		Transport: probe.NewTransport(probe.Route{
			Dial: dial, To: t.Address, TLS: security, ServerName: t.NameForTLS(),
			Reuse: t.Connection == "reuse", HTTP2: t.HTTPVersion == "2", UserTimestamps: t.Timestamps == "user",
		}),
		Timeout: t.Timeout, Stall: t.StallTimeout,
		Backoff: t.BackoffLimit, DayLimit: t.TokenBudgetPerDay,
		Version: t.APIVersion, Priority: t.Priority, Session: t.SessionHeader, Body: wire.Object(t.Body),
	}
	for name, value := range t.Headers {
		target.Header.Set(name, value.Reveal())
	}
	if t.API != wire.Auto {
		target.Dialect, err = wire.Lookup(t.API)
		if err != nil {
			return probe.Target{}, err
		}
	}
	if t.Server != wire.Auto {
		target.Server, err = wire.LookupServer(t.Server)
		if err != nil {
			return probe.Target{}, err
		}
	}
	return target, nil
}

// userAgent returns how the prober calls itself in requests.
func userAgent(version string) string {
	return "prober/" + version + " (synthetic monitoring; +https://github.com/llm-prober/prober)"
}

// promptOptions returns what the group of t is asked by the only prompt of t. Each prompt of each group of a run has a
// seed of its own, so that none warms the cache for another.
func promptOptions(t config.Target, f *files.Files, seed uint64) (prompt.Options, error) {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(t.Group + "\n" + t.Prompts[0].Name)) // never fails
	o := prompt.Options{
		Workload: prompt.Workload(t.Prompt), Tokens: t.PromptTokens, Answer: t.MaxTokens, Seed: seed ^ hash.Sum64(),
		Users: t.SessionUsers, Rounds: t.SessionRounds, System: t.SystemTokens, Depths: t.CanaryDepth,
	}
	var err error
	o.Dataset, err = f.DataSet(t)
	return o, err
}

// kindsOf returns the kind of each target's server: servers of one kind count the tokens of a model alike. The replicas
// behind one name are of one kind, and another key, timeout or rate makes no other kind.
func kindsOf(targets []config.Target) []string {
	kinds := make([]string, len(targets))
	for i, t := range targets {
		d := t.Destination()
		settings := []string{d.URL, d.Path, d.API, d.APIVersion, d.Server, d.TLSServerName} // without the address
		for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
			settings = append(settings, name, d.Headers[name].Reveal())
		}
		if len(t.Body) > 0 { // it may change what the chat template makes of a prompt
			settings = append(settings, t.Body.String())
		}
		kinds[i] = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", settings)))
	}
	return kinds
}

// A tokenClient is what a client of OAuth 2 is made of.
type tokenClient struct {
	url, id, secret, scopes, auth string
	authorities                   string // path of the CA file; empty: those of the system
}

// tokenClients are the clients of one assembly: targets with equal settings share one, and so its token. Targets that a
// reload does not change keep their client with its token; all others get a new client, which fetches once.
type tokenClients map[tokenClient]*probe.TokenClient

// clientOf returns the client of t; nil if it has none.
func (clients tokenClients) clientOf(t config.Target, f *files.Files, dial probe.Dial) (*probe.TokenClient, error) {
	if t.OAuthTokenURL == "" {
		return nil, nil
	}
	from := tokenClient{
		t.OAuthTokenURL, t.OAuthClientID, t.OAuthSecret.Reveal(), t.OAuthScopes, t.OAuthClientAuth, t.CAFile,
	}
	client, ok := clients[from]
	if ok {
		return client, nil
	}
	security, err := f.TokenTLS(t)
	if err != nil {
		return nil, err
	}
	client = probe.NewTokenClient(probe.TokenOptions{
		URL: from.url, ID: from.id, Secret: from.secret, Scopes: strings.Fields(from.scopes), InBody: from.auth == "body",
		Dial: dial, TLS: security,
	})
	clients[from] = client
	return client, nil
}
