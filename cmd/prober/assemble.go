package main

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/wire"
)

// A job is one group of targets, ready to be probed.
type job struct {
	targets []config.Target // of the members, in their order
	clients []sum           // the same as their servers see them
	group   *probe.Group
	plan    schedule.Plan
	files   sum         // of what the targets' files hold
	ended   atomic.Bool // it was stopped: nothing is said of its targets any more
	reached atomic.Bool // its first server was asked for the length of prompts
	asks    prompt.Options
	writer  *prompt.Writer
}

// assemble makes a job of each group, in the order of the targets, with what files
// hold.
func assemble(targets []config.Target, files *reading, dial probe.Dial, build telemetry.Build) ([]*job, error) {
	var jobs []*job
	seed := randomSeed()
	for _, target := range targets {
		i := slices.IndexFunc(jobs, func(j *job) bool { return j.plan.Name == target.Group })
		if i < 0 {
			options, err := promptOptions(target, files, seed)
			if err != nil {
				return nil, fmt.Errorf("target %s: %w", target.Name, err)
			}
			i = len(jobs)
			jobs = append(jobs, newJob(target, options))
		}
		if err := jobs[i].add(target, files, dial, build); err != nil {
			return nil, err
		}
	}
	for _, j := range jobs {
		j.files = filesOf(j.targets, files)
	}
	return jobs, nil
}

// newJob returns a job without members for the group of t.
func newJob(t config.Target, asks prompt.Options) *job {
	interval := intervalOf(t)
	j := &job{
		plan:   schedule.Plan{Interval: interval, Arrival: schedule.Arrival(t.Arrival), Name: t.Group},
		asks:   asks,
		writer: prompt.NewWriter(asks),
	}
	j.group = &probe.Group{
		Interval: interval, Output: t.MaxTokens,
		Ask:     j.question,
		Record:  func(*probe.Result) {},
		Skipped: func(string, probe.Skip) {},
	}
	return j
}

func intervalOf(t config.Target) time.Duration {
	return time.Duration(float64(time.Second) / t.QPS)
}

// add makes a member of t.
func (j *job) add(t config.Target, files *reading, dial probe.Dial, build telemetry.Build) error {
	security, err := tlsConfig(t, files)
	if err != nil {
		return fmt.Errorf("target %s: %w", t.Name, err)
	}
	target := probe.Target{
		Name: t.Name, Group: t.Group, Prompt: t.Prompt, URL: t.URL, Path: t.Path,
		Key: t.APIKey.Reveal(), Header: header(t), Agent: agent(build),
		Transport: transport(t, dial, security),
		Timeout:   t.Timeout, Stall: t.StallTimeout, Backoff: t.BackoffLimit,
		Version: t.APIVersion, Priority: t.Priority, Session: t.SessionHeader,
	}
	if t.API != wire.Auto {
		if target.Dialect, err = wire.Lookup(t.API); err != nil {
			return err
		}
	}
	if t.Server != wire.Auto {
		if target.Server, err = wire.LookupServer(t.Server); err != nil {
			return err
		}
	}
	j.targets, j.clients = append(j.targets, t), append(j.clients, client(t))
	j.group.Members = append(j.group.Members,
		probe.NewMember(target, t.Model, t.MaxInFlight, probe.NewBudget(t.TokenBudgetPerDay)))
	return nil
}

// transport reaches t.
func transport(t config.Target, dial probe.Dial, security *tls.Config) *probe.Transport {
	if strings.Contains(strings.ToLower(t.URL), "https:") || proxied() {
		trustThePublic()
	}
	return probe.NewTransport(probe.Route{
		Dial: dial, To: t.Address, TLS: security, Reuse: t.Connection == "reuse", HTTP2: t.HTTPVersion == "2",
		UserStamps: t.Stamp == "user",
	})
}

// has reports whether j probes a target of that name.
func (j *job) has(target string) bool {
	return slices.ContainsFunc(j.targets, func(t config.Target) bool { return t.Name == target })
}

// same reports whether nothing changed since j was assembled: neither what its
// targets are configured with, nor the files that they name.
func (j *job) same(o *job) bool {
	return j.plan.Name == o.plan.Name && reflect.DeepEqual(j.targets, o.targets) && j.files == o.files
}

// hold makes the members wait that shall.
func (j *job) hold() {
	for i, t := range j.targets {
		if t.WaitForReady > 0 {
			j.group.Members[i].Hold()
		}
	}
}

// drain makes no member be asked any more, or ends that.
func (j *job) drain(on bool) {
	for _, m := range j.group.Members {
		m.Drain(on)
	}
}

// inherit takes over what the servers of an earlier job taught, where this one
// asks the same server as the same client: from the target of the same name, if
// there is one.
func (j *job) inherit(old *job) {
	for i, c := range j.clients {
		same := func(k int) bool { return old.targets[k].Name == j.targets[i].Name }
		from := -1
		for k, before := range old.clients {
			if c == before && (from < 0 || same(k)) {
				from = k
			}
		}
		if from >= 0 {
			j.group.Members[i].Inherit(old.group.Members[from])
		}
	}
}

// client tells whom a server sees in t, and what it is asked for, from any other.
// Another key from the same file is a newer one of the same client.
func client(t config.Target) sum {
	hash, key := sha256.New(), t.APIKey.Reveal()
	if t.APIKeyFile != "" {
		key = ""
	}
	fmt.Fprintf(hash, "%q", []string{
		t.URL, t.Path, t.Address, t.API, t.APIVersion, t.Server, t.Model, key, t.APIKeyFile, t.CAFile, t.CertFile, t.KeyFile,
	})
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		fmt.Fprintf(hash, "%q", []string{name, t.Headers[name].Reveal()})
	}
	return sum(hash.Sum(nil))
}

// filesOf tells the content of all files that targets name from any other.
func filesOf(targets []config.Target, files *reading) sum {
	hash := sha256.New()
	for _, t := range targets {
		for _, path := range []string{t.BookFile, t.DatasetFile, t.CAFile, t.CertFile, t.KeyFile} {
			var content sum
			if path != "" {
				content = files.sum(path)
			}
			fmt.Fprintf(hash, "%q %x ", path, content)
		}
	}
	return sum(hash.Sum(nil))
}

// close closes the connections that nobody uses.
func (j *job) close() {
	for _, m := range j.group.Members {
		m.Close()
	}
}

// agent is how the prober calls itself: whoever reads a server's log shall know
// that this is no user.
func agent(b telemetry.Build) string {
	return "prober/" + b.Version + " (synthetic monitoring; +https://github.com/llm-prober/prober)"
}

// header is what the user added to each request to t.
func header(t config.Target) http.Header {
	h := http.Header{}
	for name, value := range t.Headers {
		h.Set(name, value.Reveal())
	}
	return h
}

// tlsConfig is how to speak TLS with t.
func tlsConfig(t config.Target, files *reading) (*tls.Config, error) {
	shared, err := files.tls(t.CAFile, t.CertFile, t.KeyFile)
	if err != nil {
		return nil, err
	}
	c := shared.Clone()
	c.InsecureSkipVerify = t.InsecureSkipVerify //nolint:gosec // the user asked for it, and is warned
	return c, nil
}

// randomSeed makes the prompts of this run differ from those of all others.
func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: see its documentation
	return binary.NativeEndian.Uint64(b[:])
}

// objectives are those of the configuration, as probes are judged by them.
func objectives(c *config.Config) []probe.Objective {
	var list []probe.Objective
	for _, o := range c.Objectives {
		list = append(list, probe.Objective{Name: o.Name, Signal: probe.Signal(o.Signal), Limit: o.Limit, Goal: o.Goal})
	}
	return list
}

// tokensPerDay is what probing t costs. A data set's prompts count one token a
// word at least.
func (j *job) tokensPerDay(t config.Target) int {
	perDay := int(t.QPS * 86400 * float64(j.asks.Mean()+t.MaxTokens))
	if t.TokenBudgetPerDay > 0 {
		return min(perDay, t.TokenBudgetPerDay)
	}
	return perDay
}

// lengthNotes says how exact the prompts of j are, once that is known.
func (j *job) lengthNotes(t config.Target) []string {
	off, known := j.writer.Off()
	switch {
	case !known:
		return []string{"prompt length is being calibrated"}
	case off != 0:
		return []string{offWords(off, t)}
	}
	return nil
}

// offWords say by how many tokens the prompts of t are longer than asked.
func offWords(off int, t config.Target) string {
	return fmt.Sprintf("prompts count %+d tokens against the %d asked", off, t.PromptTokens)
}
