package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/usage"
)

// retryAfter is the longest time after which a source that failed is asked again, however seldom it is asked otherwise.
// At the start it may only be late.
const retryAfter = time.Minute

// Lists are what is known of the sources of http_sd, by their URLs. They are never changed: [lists.next] makes others.
type lists map[string]list

// A list is what is known of a source. Unlike the answers of name servers, lists are complete: a target that one lacks
// is gone.
type list struct {
	targets []listed  // of the last answer
	failure error     // of the last request; nil if it succeeded
	since   time.Time // of the first request that failed, of those that have failed in a row
	due     time.Time // when the source is to be asked again
}

// A listed is an address of a list, with the labels that it has there.
type listed struct {
	address string
	labels  map[string]string
}

// A fetch asks a source for its list, as [fetcher.fetch] does.
type fetch func(context.Context, config.HTTPSD) ([]listed, error)

// next asks the sources that are due, within fetchLimit, and returns what is known of all sources then. The targets of
// a source that fails stay.
func (l lists) next(ctx context.Context, ask fetch, sources []config.HTTPSD, isDue func(list) bool) lists {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchLimit, fmt.Errorf("no answer within %v", fetchLimit))
	defer cancel()
	answers := make([]list, len(sources))
	var running errgroup.Group
	running.SetLimit(lookupsAtOnce)
	for i, s := range sources {
		answers[i] = l[s.URL.Reveal()]
		if !isDue(answers[i]) {
			continue
		}
		running.Go(func() error {
			targets, err := ask(ctx, s)
			answers[i] = answers[i].after(s, targets, err)
			return nil
		})
	}
	_ = running.Wait() // failures are in the answers

	next := lists{}
	for i, s := range sources {
		next[s.URL.Reveal()] = answers[i]
	}
	return next
}

// after returns what is known of a source after its answer, which is the list or an error.
func (l list) after(s config.HTTPSD, targets []listed, err error) list {
	now := time.Now()
	if err == nil {
		return list{targets: targets, due: now.Add(s.Refresh)}
	}
	if l.failure == nil {
		l.since = now
	}
	l.failure = err
	l.due = now.Add(min(s.Refresh, retryAfter))
	return l
}

// always is for sources that are all due.
func always(list) bool { return true }

// nextDue returns when the next of all sources is due; ok is false if there are none.
func (l lists) nextDue() (at time.Time, ok bool) {
	for _, source := range l {
		if !ok || source.due.Before(at) {
			at, ok = source.due, true
		}
	}
	return at, ok
}

// logChanges logs the sources that begin to fail, or to succeed again.
func (l lists) logChanges(before lists, sources []config.HTTPSD, log *zap.Logger) {
	for _, s := range sources {
		now := l[s.URL.Reveal()]
		hasFailed := before[s.URL.Reveal()].failure != nil
		log := log.With(zap.Stringer("source", s.URL), zap.Int("targets", len(now.targets)))
		switch {
		case now.failure != nil && !hasFailed:
			log.Warn("HTTP service discovery failed; keeping the last known targets", zap.Error(now.failure))
		case now.failure == nil && hasFailed:
			log.Info("HTTP service discovery succeeded again")
		}
	}
}

// failed returns which sources failed when they were asked last, for the page.
func (l lists) failed(sources []config.HTTPSD) (all []status.FailedSource) {
	for _, s := range sources {
		now := l[s.URL.Reveal()]
		if now.failure != nil {
			all = append(all, status.FailedSource{
				URL: s.URL.String(), Problem: now.failure.Error(), Since: now.since, Targets: len(now.targets),
			})
		}
	}
	return all
}

// A listing is what all lists together come to: targets, and what of the lists is none.
type listing struct {
	targets  []config.Target   // of all shards
	rejected []config.Rejected // addresses that cannot be targets
	twice    []string          // names of addresses that are left out: another target has the name, or the URL
	dropped  map[string]int    // labels that no target declares: how many addresses have them, by name
}

// listing returns what the lists come to with a configuration. Of two targets with one name or URL, one that is
// configured goes before one that a source lists, and the first source before the others.
func (l lists) listing(c *config.Config) listing {
	found := listing{dropped: map[string]int{}}
	isTaken := map[string]bool{} // names of targets and groups
	for _, t := range c.Targets {
		isTaken[t.Name], isTaken[t.Group] = true, true
	}
	for _, t := range c.Rejected {
		isTaken[t.Name] = true
	}
	isReplica := func(name string) bool {
		return slices.ContainsFunc(c.Targets, func(t config.Target) bool {
			return t.EachAddress && strings.HasPrefix(name, t.Name+"/")
		})
	}
	isListed := map[string]bool{} // URLs
	for _, s := range c.HTTPSD {
		for _, entry := range l[s.URL.Reveal()].targets {
			t, dropped, problems := c.Listed(s, entry.address, entry.labels)
			for _, name := range dropped {
				found.dropped[name]++
			}
			switch {
			case isTaken[t.Name], isListed[t.URL], isReplica(t.Name):
				found.twice = append(found.twice, t.Name)
			case problems != nil:
				isTaken[t.Name] = true
				found.rejected = append(found.rejected,
					config.Rejected{Name: t.Name, Labels: t.Labels, Problems: problems})
			default:
				isTaken[t.Name], isListed[t.URL] = true, true
				found.targets = append(found.targets, t)
			}
		}
	}
	return found
}

// droppedLabels returns the names of the labels that were dropped, sorted, without those that Prometheus drops as well.
func (l listing) droppedLabels() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(l.dropped)) {
		if !strings.HasPrefix(name, "__") {
			names = append(names, name)
		}
	}
	return names
}

// logChanges logs what is left out of lists, if that is not what was left out before.
func (l listing) logChanges(before listing, log *zap.Logger) {
	if len(l.twice) > 0 && !slices.Equal(l.twice, before.twice) {
		log.Warn("http_sd lists addresses that are left out: another target has the name or the URL",
			zap.Int("addresses", len(l.twice)), zap.Strings("such_as", l.twice[:min(5, len(l.twice))]))
	}
	dropped := l.droppedLabels()
	if len(dropped) > 0 && !slices.Equal(dropped, before.droppedLabels()) {
		log.Info("http_sd lists labels that are dropped: the setting labels declares those that targets have",
			zap.Strings("labels", dropped[:min(20, len(dropped))]))
	}
}

// AddListed adds the targets that the sources of c list to its targets, for commands that end. After that, c has no
// sources. One that fails is rejected as if it were a target. Without any target, so are all.
func AddListed(ctx context.Context, c *config.Config, dial probe.Dial, version string) {
	found := lists{}.next(ctx, newFetcher(dial, version).fetch, c.HTTPSD, always)
	l := found.listing(c)
	reject := func(name, text, hint string) {
		problem := usage.Problem{Place: name, Text: text, Hint: hint}
		l.rejected = append(l.rejected, config.Rejected{Name: name, Problems: usage.Problems{problem}})
	}
	for _, source := range found.failed(c.HTTPSD) {
		reject("http_sd "+source.URL, source.Problem, "nobody knows its targets without its list")
	}
	c.Targets = append(c.Targets, l.targets...)
	if len(c.Targets) == 0 && len(l.rejected) == 0 && len(c.HTTPSD) > 0 {
		reject("http_sd "+c.HTTPSD[0].URL.String(), "lists no targets", "want at least one target")
	}
	c.Rejected = append(c.Rejected, l.rejected...)
	c.HTTPSD = nil
}
