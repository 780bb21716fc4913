package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"slices"
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
	group   *probe.Group
	plan    schedule.Plan
	writer  *prompt.Writer
}

// assemble makes a job of each group, in the order of the configuration.
func assemble(c *config.Config, dial probe.Dial, build telemetry.Build) ([]*job, error) {
	var jobs []*job
	seed := randomSeed()
	for _, target := range c.Targets {
		i := slices.IndexFunc(jobs, func(j *job) bool { return j.plan.Name == target.Group })
		if i < 0 {
			options, err := promptOptions(target, seed)
			if err != nil {
				return nil, fmt.Errorf("target %s: %w", target.Name, err)
			}
			i = len(jobs)
			jobs = append(jobs, newJob(target, options))
		}
		if err := jobs[i].add(target, dial, build); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// newJob returns a job without members for the group of t.
func newJob(t config.Target, asks prompt.Options) *job {
	interval := intervalOf(t)
	j := &job{
		plan:   schedule.Plan{Interval: interval, Arrival: schedule.Arrival(t.Arrival), Name: t.Group},
		writer: prompt.NewWriter(asks),
	}
	j.group = &probe.Group{
		Interval: interval, Tokens: t.PromptTokens, Output: t.MaxTokens,
		Ask:     j.ask,
		Record:  func(*probe.Result) {},
		Skipped: func(string, probe.Skip) {},
	}
	return j
}

// promptOptions are what the group of t is asked. They read the file that is
// asked from.
func promptOptions(t config.Target, seed uint64) (prompt.Options, error) {
	o := prompt.Options{
		Workload: prompt.Workload(t.Prompt), Tokens: t.PromptTokens, Answer: t.MaxTokens, Seed: seed,
		Users: t.SessionUsers, Rounds: t.SessionRounds, System: t.SystemTokens, Depth: t.CanaryDepth,
	}
	switch o.Workload {
	case prompt.Book:
		data, err := os.ReadFile(t.BookFile)
		if err == nil {
			o.Book, err = prompt.ParseBook(data, o.Tokens)
		}
		if err != nil {
			return o, fmt.Errorf("book file %s: %w", t.BookFile, err)
		}
	case prompt.Dataset:
		data, err := os.ReadFile(t.DatasetFile)
		if err == nil {
			o.Dataset, err = prompt.ParseDataset(data)
		}
		if err != nil {
			return o, fmt.Errorf("data set file %s: %w", t.DatasetFile, err)
		}
	}
	return o, nil
}

func intervalOf(t config.Target) time.Duration {
	return time.Duration(float64(time.Second) / t.QPS)
}

// ask writes the prompt of a round.
func (j *job) ask(round uint64) probe.Question {
	p := j.writer.Prompt(round)
	q := probe.Question{
		Text: p.Text, Salt: p.Salt,
		Learn:  func(tokens int) { j.writer.Learn(p.Size, tokens) },
		Refuse: func() { j.writer.Refuse(p.Size) },
	}
	if p.Held {
		q.Tokens = wire.Tokens(p.Tokens)
	}
	return q
}

// add makes a member of t.
func (j *job) add(t config.Target, dial probe.Dial, build telemetry.Build) error {
	security, err := tlsConfig(t)
	if err != nil {
		return fmt.Errorf("target %s: %w", t.Name, err)
	}
	target := probe.Target{
		Name: t.Name, Group: t.Group, Prompt: t.Prompt, URL: t.URL,
		Header: header(t), Agent: "prober/" + build.Version,
		Transport: probe.NewTransport(dial, security, t.Connection == "reuse"),
		Timeout:   t.Timeout, Stall: t.StallTimeout,
	}
	if t.API != wire.Auto {
		if target.Dialect, err = wire.Lookup(t.API); err != nil {
			return err
		}
	}
	j.targets = append(j.targets, t)
	j.group.Members = append(j.group.Members,
		probe.NewMember(target, t.Model, t.MaxInFlight, probe.NewBudget(t.TokenBudgetPerDay)))
	return nil
}

// fit makes the prompts' length exact by the first member's tokenizer, where it
// has one. Without one, the usage of the first probes tells.
func (j *job) fit(ctx context.Context) error {
	return j.writer.Fit(func(p prompt.Prompt) (int, error) {
		n, ok, err := j.group.Members[0].Count(ctx, p.Text)
		if err == nil && !ok {
			err = errNoTokenizer
		}
		return n, err
	})
}

// header is what goes out with each request to t.
func header(t config.Target) http.Header {
	h := http.Header{}
	if key := t.APIKey.Reveal(); key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	for name, value := range t.Headers {
		h.Set(name, value.Reveal())
	}
	return h
}

// tlsConfig is how to speak TLS with t.
func tlsConfig(t config.Target) (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: t.InsecureSkipVerify} //nolint:gosec // the user asked for it, and is warned
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read CA file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s holds no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		certificate, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{certificate}
	}
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

// tokensPerDay is what probing t costs.
func tokensPerDay(t config.Target) int {
	perDay := int(t.QPS * 86400 * float64(t.PromptTokens+t.MaxTokens))
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
		return []string{fmt.Sprintf("prompts count %+d tokens against the %d asked", off, t.PromptTokens)}
	}
	return nil
}
