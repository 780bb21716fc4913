package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/usage"
)

// Register makes mux serve the pages, the JSON below /api/v1/ and the health of the prober. Nothing can be changed by
// them.
func (b *Board) Register(mux *http.ServeMux) {
	mux.Handle("GET /{$}", withHeaders(b.servePage))
	mux.Handle("GET /probes/{trace_id}", withHeaders(b.serveProbe))
	mux.Handle("GET /api/v1/results", withHeaders(b.serveResults))
	mux.Handle("GET /api/v1/results/{trace_id}", withHeaders(b.serveResult))
	mux.Handle("GET /api/v1/targets", withHeaders(b.serveTargets))
	mux.Handle("GET /api/v1/targets/{path...}", withHeaders(b.serveHealth))
	mux.Handle("GET /-/healthy", withHeaders(serveHealthy))
	mux.Handle("GET /-/ready", withHeaders(b.serveReady))
}

// withHeaders adds headers to every answer that forbid a browser to do anything but show it. A handler may replace the
// policy.
func withHeaders(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // without a referrer a browser sends "Origin: null" with a form
		h.Set("Cache-Control", "no-store")
		next(w, r)
	})
}

// serveHealthy answers 200: that it answers at all shows that the process serves HTTP.
func serveHealthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "Prober is Healthy.\n")
}

// serveReady answers 200 if the prober is ready, else 503.
func (b *Board) serveReady(w http.ResponseWriter, _ *http.Request) {
	if !b.ready.Load() {
		http.Error(w, "Prober is not Ready.", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "Prober is Ready.\n")
}

// refuse answers with an error in the form of Prometheus' API.
func refuse(w http.ResponseWriter, status int, text string) {
	kind := "bad_data"
	if status == http.StatusNotFound {
		kind = "not_found"
	}
	answer(w, status, map[string]string{"status": "error", "errorType": kind, "error": text})
}

// answer writes v as JSON. An error means that the client is gone, and is ignored.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// A targetJSON is one target in /api/v1/targets. Durations are seconds; what is absent is null. Counts and quantiles
// are those of the results in memory that are at most window_seconds old. The fields up to Labels are those of
// [probe.Description].
type targetJSON struct {
	Name         string   `json:"name"`
	Group        string   `json:"group"`
	Model        string   `json:"model"`
	API          string   `json:"api"`
	URL          string   `json:"url"`
	Prompt       string   `json:"prompt"`
	PromptTokens int      `json:"prompt_tokens"`
	MaxTokens    int      `json:"max_tokens"`
	TokensPerDay int      `json:"tokens_per_day"`
	Notes        []string `json:"notes"`

	Labels map[string]string `json:"labels"` // by name; empty without any

	Interval      float64                   `json:"interval_seconds"`
	Server        *string                   `json:"server"`         // server type; null if unknown
	ServerVersion *string                   `json:"server_version"` // as the server reports it; null if unknown
	Capabilities  map[string]server.Ability `json:"capabilities"`

	State       state          `json:"state"`
	Problems    usage.Problems `json:"problems"`     // of the settings; empty unless the target is rejected
	Reasons     []string       `json:"reasons"`      // sentences: what is wrong; empty if nothing is
	Since       time.Time      `json:"since"`        // when it got into its state
	SinceStart  bool           `json:"since_start"`  // it was so in the first probe, and may have been so before
	LastOK      *time.Time     `json:"last_ok_time"` // null if no probe has succeeded
	LastOutcome *probe.Outcome `json:"last_outcome"`
	LastError   *string        `json:"last_error"`
	LastHint    *string        `json:"last_hint"`
	LastResult  *time.Time     `json:"last_result_time"`
	InFlight    int            `json:"in_flight"`
	Oldest      *float64       `json:"oldest_in_flight_seconds"`
	Skipped     map[string]int `json:"skipped"` // by reason, since the target was added
	Links       linksJSON      `json:"links"`

	Window     float64               `json:"window_seconds"`
	Results    int                   `json:"results"`
	OKResults  int                   `json:"ok_results"`
	OKRatio    stats.Number          `json:"ok_ratio"` // null without a result
	Outcomes   map[probe.Outcome]int `json:"outcomes"` // only those that happened
	Quantiles  latenciesJSON         `json:"quantiles_seconds"`
	Objectives []objectiveJSON       `json:"objectives"`
}

// linksJSON are absolute addresses about a target, null if they are not known.
type linksJSON struct {
	Page      *string `json:"page"`
	Dashboard *string `json:"dashboard"`
	Runbook   *string `json:"runbook"` // null if nothing is wrong
}

// latenciesJSON are the quantiles of each latency.
type latenciesJSON struct {
	TTFT quantilesJSON `json:"ttft"`
	TPOT quantilesJSON `json:"tpot"`
	ITL  quantilesJSON `json:"itl"` // every token weighs the same
	E2EL quantilesJSON `json:"e2el"`
}

// quantilesJSON are those of N values; null if there is no value.
type quantilesJSON struct {
	N   int          `json:"n"`
	P50 stats.Number `json:"p50"`
	P95 stats.Number `json:"p95"`
}

// An objectiveJSON is one objective of a target, with the events of the results in the window.
type objectiveJSON struct {
	Name   string       `json:"name"`
	Signal probe.Signal `json:"signal"`
	Limit  *float64     `json:"limit_seconds"` // null for availability
	Goal   float64      `json:"goal_ratio"`
	Good   int          `json:"good"`
	Total  int          `json:"total"`  // events that were judged
	Missed bool         `json:"missed"` // enough events were bad to show that the share is below the goal
}

// serveTargets serves each prompt of all targets as JSON, and where the prober stands: null if nobody said.
func (b *Board) serveTargets(w http.ResponseWriter, _ *http.Request) {
	targets := []targetJSON{}
	for _, v := range b.views() {
		targets = append(targets, newTargetJSON(v))
	}
	data := map[string]any{"vantage": orNull(b.vantage), "targets": targets}
	answer(w, http.StatusOK, map[string]any{"status": "success", "data": data})
}

// newTargetJSON returns what /api/v1/targets says of a target.
func newTargetJSON(v *view) targetJSON {
	t := v.Target
	j := targetJSON{
		Name: t.Name, Group: t.Group, Model: t.Model, API: t.API, URL: t.URL, Prompt: t.Prompt,
		PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, TokensPerDay: t.TokensPerDay, Notes: t.Notes,
		Labels:        map[string]string{},
		Interval:      t.Interval.Seconds(),
		Server:        orNull(t.Server),
		ServerVersion: orNull(t.Version),
		Capabilities:  map[string]server.Ability{},

		State:      v.State,
		Reasons:    append([]string{}, v.Why()...),
		Problems:   append(usage.Problems{}, v.Problems...),
		Since:      v.Since,
		SinceStart: v.SinceStart,
		InFlight:   v.InFlight,
		Skipped:    v.Skipped,
		Links: linksJSON{
			Page: orNull(v.PageURL), Dashboard: orNull(v.DashboardURL), Runbook: orNull(v.RunbookURL()),
		},

		Window:    v.Window,
		Results:   v.Results,
		OKResults: v.OKResults,
		OKRatio:   stats.Number(float64(v.OKResults) / float64(v.Results)), // NaN without a result
		Outcomes:  v.Outcomes,
		Quantiles: latenciesJSON{
			TTFT: quantilesJSON(v.Latencies.TTFT), TPOT: quantilesJSON(v.Latencies.TPOT),
			ITL: quantilesJSON(v.Latencies.ITL), E2EL: quantilesJSON(v.Latencies.E2EL),
		},
		Objectives: []objectiveJSON{},
	}
	maps.Copy(j.Labels, t.Labels)
	for _, a := range t.Abilities {
		j.Capabilities[a.Name] = a
	}
	if !v.LastOK.IsZero() {
		j.LastOK = &v.LastOK
	}
	if v.Last != nil {
		j.LastOutcome, j.LastResult = &v.Last.Outcome, &v.Last.At
		j.LastError, j.LastHint = v.Last.Error, v.Last.Hint
	}
	if v.InFlight > 0 {
		j.Oldest = &v.Oldest
	}
	for _, o := range v.Objectives {
		objective := objectiveJSON{
			Name: o.Name, Signal: o.Signal, Goal: o.Goal, Good: o.Good, Total: o.Total(), Missed: o.Missed,
		}
		if o.Signal != probe.SignalAvailability {
			objective.Limit = new(o.Limit.Seconds())
		}
		j.Objectives = append(j.Objectives, objective)
	}
	return j
}

// orNull returns a pointer to s, or nil if s is empty.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// How many results an answer of /api/v1/results has.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// failedOutcome is a value of the parameter "outcome" that stands for all outcomes except ok.
const failedOutcome = "failed"

// A query holds the parameters target, outcome and format of /api/v1/results, without empty values.
type query map[string][]string

// parseQuery reads the parameters that may be repeated. It ignores unknown ones, as Prometheus does.
func parseQuery(values url.Values, targets []string) (query, error) {
	outcomes := []string{failedOutcome}
	for _, o := range probe.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	q := query{}
	allowed := map[string][]string{"target": targets, "outcome": outcomes, "format": {"json", "jsonl"}}
	for _, name := range []string{"target", "outcome", "format"} {
		for _, v := range values[name] {
			if v == "" {
				continue
			}
			if !slices.Contains(allowed[name], v) {
				want := cmp.Or(strings.Join(allowed[name], ", "), "the targets: there is none yet")
				return nil, fmt.Errorf("invalid parameter %q: %q: want one of %s", name, v, want)
			}
			q[name] = append(q[name], v)
		}
	}
	return q, nil
}

// parseLimit reads the parameter limit, which is how many results an answer may have.
func parseLimit(values url.Values) (int, error) {
	text := values.Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		return 0, fmt.Errorf("invalid parameter \"limit\": %q: want a number from 1 to %d", text, maxLimit)
	}
	return limit, nil
}

// serveResults answers with results, the newest first. It writes one after another, so that the text of all of them is
// never in memory.
func (b *Board) serveResults(w http.ResponseWriter, r *http.Request) {
	histories := b.copies()
	var targets []string
	for _, h := range histories {
		targets = append(targets, h.target.Name)
	}
	targets = slices.Compact(targets)
	q, queryErr := parseQuery(r.URL.Query(), targets)
	limit, limitErr := parseLimit(r.URL.Query())
	err := cmp.Or(queryErr, limitErr)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	results := q.find(histories)
	writeResults(w, results[:min(limit, len(results))], slices.Contains(q["format"], "jsonl"))
}

// find returns the results that the query asks for, the newest first.
//
// Results that left the ring are failures and the slowest successes. They would make a target look worse than it was:
// only a query for nothing but failures finds them.
func (q query) find(histories []history) []*entry {
	outcomes := q["outcome"]
	onlyFailures := outcomes != nil && !slices.Contains(outcomes, string(probe.OK))
	var all []*entry
	for _, h := range histories {
		if onlyFailures {
			all = append(all, h.earlier...)
		}
		all = append(all, h.ring...)
	}
	all = slices.DeleteFunc(all, func(e *entry) bool { return !q.wants(e) })
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(b.Start.Compare(a.Start), b.At.Compare(a.At))
	})
	return all
}

// wants reports whether the query asks for a result.
func (q query) wants(e *entry) bool {
	targets, outcomes := q["target"], q["outcome"]
	isOfTarget := targets == nil || slices.Contains(targets, e.Target)
	hasOutcome := outcomes == nil || slices.Contains(outcomes, string(e.Outcome))
	isFailure := !e.OK() && slices.Contains(outcomes, failedOutcome)
	return isOfTarget && (hasOutcome || isFailure)
}

// writeResults writes results as the JSON of an answer, or one JSON object on each line.
func writeResults(w http.ResponseWriter, results []*entry, asLines bool) {
	contentType := "application/json"
	before, between, after := `{"status":"success","data":{"results":[`, ",", "]}}\n"
	if asLines {
		contentType = "application/x-ndjson"
		before, between, after = "", "", ""
	}
	w.Header().Set("Content-Type", contentType+"; charset=utf-8")
	_, _ = io.WriteString(w, before)
	encoder := json.NewEncoder(w)
	for i, e := range results {
		if i > 0 {
			_, _ = io.WriteString(w, between)
		}
		err := encoder.Encode(e.ResultJSON())
		if err != nil {
			return // the client is gone
		}
	}
	_, _ = io.WriteString(w, after)
}

// notInMemory is the error about a trace id.
const notInMemory = "no result with this trace id is in memory: the prober keeps the last results of each target, " +
	"its last failures and the slowest of a day, until it is restarted"

// serveResult serves one result as JSON.
func (b *Board) serveResult(w http.ResponseWriter, r *http.Request) {
	e, _ := b.find(r.PathValue("trace_id"))
	if e == nil {
		refuse(w, http.StatusNotFound, notInMemory)
		return
	}
	answer(w, http.StatusOK, map[string]any{"status": "success", "data": e.ResultJSON()})
}
