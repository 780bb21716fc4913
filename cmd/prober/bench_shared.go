package main

import (
	"net/url"
	"slices"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// shared warns where the first target and another are one host, whose cache may
// know from the one what the other asks: neither does a salt keep them apart, nor
// would the server tell.
func (t *tally) shared(i int) []string {
	if t.job.Prompts.Workload == prompt.Warm || host(t.job.Targets[0].URL) != host(t.job.Targets[i].URL) {
		return nil
	}
	if slices.ContainsFunc(t.job.Members[i].Capabilities().Abilities(), func(a probe.Ability) bool {
		return a.Claim == wire.Always && (a.Name == "cache_salt" || a.Name == "cached_tokens")
	}) {
		return nil
	}
	return []string{"both are the same host, which does not tell what its cache knew: who is asked second may be faster for that alone"}
}

// host is that of a URL, with its port.
func host(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Host
}
