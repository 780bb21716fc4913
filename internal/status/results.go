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

// onlyFailures reports whether the query asks only for failures. Only then the answer has results that left the ring:
// those are failures and the slowest successes, and would make a target look worse than it was.
func (q query) onlyFailures() bool {
	outcomes := q["outcome"]
	return outcomes != nil && !slices.Contains(outcomes, string(probe.OK))
}

// wants reports whether the query asks for a result.
func (q query) wants(e *entry) bool {
	targets, outcomes := q["target"], q["outcome"]
	isOfTarget := targets == nil || slices.Contains(targets, e.Target)
	hasOutcome := outcomes == nil || slices.Contains(outcomes, string(e.Outcome))
	isFailure := !e.OK() && slices.Contains(outcomes, failedOutcome)
	return isOfTarget && (hasOutcome || isFailure)
}

// serveResults answers with results, the newest first. It writes one after another, so that the text of all of them is
// never in memory.
func (b *Board) serveResults(w http.ResponseWriter, r *http.Request) {
	histories := b.copies()
	var targets []string
	for _, h := range histories {
		targets = append(targets, h.target.Name)
	}
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
func (q query) find(histories []history) []*entry {
	var all []*entry
	for _, h := range histories {
		if q.onlyFailures() {
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
		err := encoder.Encode(e.whole())
		if err != nil {
			return // the client is gone
		}
	}
	_, _ = io.WriteString(w, after)
}
