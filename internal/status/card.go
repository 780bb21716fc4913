package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// shownFailures is how many of the failures in memory the page lists.
const shownFailures = 8

// A card is one target.
type card struct {
	Name, Model, API, URL string
	Server                string // kind and version; empty if unknown
	Workload              []string
	State                 state
	StateDetail           string // the outcome, if failing
	LastAge               string // empty without a result
	LastTime              string
	Error                 *failure // of the last result
	InFlight              string
	Window                string // whose results count: "hour", or less
	Share                 string // of ok in the window
	Metrics               []metric
	Objectives            []objective
	Plot                  *plot // nil without a result
	Skipped               []string
	Notes                 []string
	Failures              []failure // newest first
	Kept                  int       // failures in memory
}

// A failure is one failed result in words.
type failure struct {
	At, Outcome, Status, Text, Hint string
}

// A metric is one row of a card's quantiles.
type metric struct {
	Key, Name, Long    string
	Last, P50, P95     string
	P50Value, P95Value string // seconds; empty without one
	N                  int
	Count              string
}

// An objective is one row of a card's objectives.
type objective struct {
	Name, Promise     string
	Good, Total       int
	Share, Than, Goal string
	Missed            bool
}

func (s *snapshot) card() card {
	t := s.target
	c := card{
		Name: t.Name, Model: t.Model, API: t.API, URL: t.URL, Server: strings.TrimSpace(t.Server + " " + t.Version), Workload: workload(t), State: s.state,
		InFlight: s.inFlightWords(), Window: s.windowWords(), Share: s.share(), Metrics: s.metrics(), Objectives: s.objectives(),
		Skipped: s.skippedWords(), Notes: slices.Concat(t.Notes, s.contaminated(), s.tainted()),
	}
	if last, ok := s.last(); ok {
		c.LastAge = span(s.now.Sub(last.at))
		c.LastTime = last.at.UTC().Format(time.RFC3339)
		if !last.ok() {
			c.Error = new(last.failure())
		}
	}
	if c.State == failing {
		c.StateDetail = c.Error.Outcome
	}
	for _, e := range slices.Backward(s.kept) {
		if e.ok() {
			continue
		}
		if c.Kept++; c.Kept <= shownFailures {
			c.Failures = append(c.Failures, e.failure())
		}
	}
	return c
}

func (e *entry) failure() failure {
	f := failure{
		At: e.at.UTC().Format("2006-01-02 15:04:05"), Outcome: string(e.account.Outcome),
		Text: deref(e.account.Error), Hint: e.hint,
	}
	if e.account.HTTPStatus != nil {
		f.Status = strconv.Itoa(*e.account.HTTPStatus)
	}
	return f
}

func workload(t probe.Description) []string {
	var words []string
	if t.PromptTokens > 0 || t.MaxTokens > 0 {
		words = append(words, fmt.Sprintf("%s prompt, %s → %s tokens", t.Prompt, format.Grouped(t.PromptTokens), format.Grouped(t.MaxTokens)))
	} else if t.Prompt != "" {
		words = append(words, t.Prompt+" prompt")
	}
	if t.Interval > 0 {
		words = append(words, "every "+round(t.Interval.Seconds()))
	}
	if t.TokensPerDay > 0 {
		words = append(words, large(t.TokensPerDay)+" tokens a day")
	}
	return words
}

func (s *snapshot) inFlightWords() string {
	switch s.inFlight {
	case 0:
		return ""
	case 1:
		return "in flight " + span(s.oldest)
	}
	return fmt.Sprintf("%d in flight, oldest %s", s.inFlight, span(s.oldest))
}

func (s *snapshot) windowWords() string {
	if w := s.window(); w < window {
		return span(w)
	}
	return "hour"
}

func (s *snapshot) share() string {
	if s.summary.results == 0 {
		return ""
	}
	share := float64(s.summary.ok) / float64(s.summary.results)
	return fmt.Sprintf("%s of %s ok (%s)", format.Grouped(s.summary.ok), format.Grouped(s.summary.results), percent(share))
}

// contaminated is a note on the prompts of the last hour that no cache could
// know and one did.
func (s *snapshot) contaminated() []string {
	n := 0
	for _, e := range s.recent {
		if e.account.Cache == probe.CacheContaminated {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s prompts of the last %s were in the server's cache although they were cold: excluded from TTFT",
		format.Grouped(n), format.Grouped(len(s.recent)), s.windowWords())}
}

// tainted is a note on the probes of the last hour that the prober read late.
func (s *snapshot) tainted() []string {
	n := 0
	for _, e := range s.recent {
		if e.account.Taint != nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s probes of the last %s were read too late by the prober: excluded from ITL",
		format.Grouped(n), format.Grouped(len(s.recent)), s.windowWords())}
}

func (s *snapshot) metrics() []metric {
	var ttft, tpot, itl, e2el *float64
	if last, ok := s.last(); ok {
		a := last.account
		ttft, tpot, e2el = a.TTFT, a.TPOT, a.E2EL
		if len(a.ITL) > 0 {
			itl = new(median(a.ITL))
		}
	}
	return []metric{
		row("ttft", "TTFT", "time to first token", ttft, s.summary.ttft),
		row("tpot", "TPOT", "time per output token", tpot, s.summary.tpot),
		row("itl", "ITL", "inter-token latency; every token weighs the same, last is the median", itl, s.summary.itl),
		row("e2el", "E2EL", "end-to-end latency", e2el, s.summary.e2el),
	}
}

func row(key, name, long string, last *float64, q quantiles) metric {
	return metric{
		Key: key, Name: name, Long: long, Last: optional(last), P50: optional(q.P50), P95: optional(q.P95),
		P50Value: number(q.P50), P95Value: number(q.P95), N: q.N, Count: format.Grouped(q.N),
	}
}

func (s *snapshot) objectives() []objective {
	var list []objective
	for _, t := range s.tallies() {
		row := objective{
			Name: t.objective.Name, Promise: promise(t.objective), Good: t.good, Total: t.total,
			Share: "–", Goal: goal(t.objective.Goal), Missed: t.missed(),
		}
		if t.total > 0 {
			row.Share, row.Than = percent(float64(t.good)/float64(t.total)), "≥"
		}
		if row.Missed {
			row.Than = "<"
		}
		list = append(list, row)
	}
	return list
}

// promise is what the objective's name leaves open: "ttft ≤ 2 s", or less.
func promise(o probe.Objective) string {
	var words []string
	if o.Name != string(o.Signal) {
		words = append(words, string(o.Signal))
	}
	if o.Signal != probe.SignalAvailability {
		words = append(words, "≤ "+round(o.Limit.Seconds()))
	}
	return strings.Join(words, " ")
}

func (s *snapshot) skippedWords() []string {
	var words []string
	for reason, n := range s.skipped {
		words = append(words, fmt.Sprintf("%s %s", format.Grouped(n), reason))
	}
	slices.Sort(words)
	return words
}

// number spells v for machines.
func number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
