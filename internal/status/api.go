package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
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

// serveTargets serves all targets as JSON, and where the prober stands: null if nobody said.
func (b *Board) serveTargets(w http.ResponseWriter, _ *http.Request) {
	targets := []targetJSON{}
	for _, t := range b.targets() {
		targets = append(targets, newTargetJSON(t))
	}
	data := map[string]any{"vantage": orNull(b.vantage), "targets": targets}
	answer(w, http.StatusOK, map[string]any{"status": "success", "data": data})
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

// A query holds the parameters target, prompt, outcome and format of /api/v1/results, without empty values.
type query map[string][]string

// parseQuery reads the parameters that may be repeated. It ignores unknown ones, as Prometheus does.
func parseQuery(values url.Values, targets, prompts []string) (query, error) {
	outcomes := []string{failedOutcome}
	for _, o := range probe.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	q := query{}
	allowed := map[string][]string{
		"target": targets, "prompt": prompts, "outcome": outcomes, "format": {"json", "jsonl"},
	}
	for _, name := range []string{"target", "prompt", "outcome", "format"} {
		for _, v := range values[name] {
			if v == "" {
				continue
			}
			if !slices.Contains(allowed[name], v) {
				want := cmp.Or(strings.Join(allowed[name], ", "), "the "+name+"s: there is none yet")
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
	var targets, prompts []string
	for _, h := range histories {
		targets = append(targets, h.target.Name)
		prompts = append(prompts, h.target.Prompt)
	}
	targets = slices.Compact(targets)
	slices.Sort(prompts)
	prompts = slices.Compact(prompts)
	prompts = slices.DeleteFunc(prompts, func(name string) bool { return name == "" }) // of a rejected target
	q, queryErr := parseQuery(r.URL.Query(), targets, prompts)
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
	targets, prompts, outcomes := q["target"], q["prompt"], q["outcome"]
	isOfTarget := targets == nil || slices.Contains(targets, e.Target)
	isOfPrompt := prompts == nil || slices.Contains(prompts, e.Prompt)
	hasOutcome := outcomes == nil || slices.Contains(outcomes, string(e.Outcome))
	isFailure := !e.OK() && slices.Contains(outcomes, failedOutcome)
	return isOfTarget && isOfPrompt && (hasOutcome || isFailure)
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
const notInMemory = "no result with this trace id is in memory: the prober keeps the last results of each prompt, " +
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
