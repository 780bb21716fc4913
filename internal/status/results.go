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

// failedOutcome is the value of the parameter "outcome" that stands for all outcomes but ok.
const failedOutcome = "failed"

// A query is the parameters of /api/v1/results by their names, without empty ones.
type query map[string][]string

// parseQuery reads the parameters. All but "limit" may be repeated; unknown ones are ignored, as Prometheus does.
func parseQuery(values url.Values, targets []string) (q query, limit int, err error) {
	outcomes := []string{failedOutcome}
	for _, o := range probe.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	q, limit = query{}, defaultLimit
	allowed := map[string][]string{"target": targets, "outcome": outcomes, "format": {"json", "jsonl"}}
	for _, name := range []string{"target", "outcome", "format"} {
		for _, v := range values[name] {
			if v == "" {
				continue
			}
			if !slices.Contains(allowed[name], v) {
				want := cmp.Or(strings.Join(allowed[name], ", "), "the targets: there is none yet")
				return nil, 0, fmt.Errorf("invalid parameter %q: %q: want one of %s", name, v, want)
			}
			q[name] = append(q[name], v)
		}
	}
	if text := values.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxLimit {
			return nil, 0, fmt.Errorf("invalid parameter \"limit\": %q: want a number from 1 to %d", text, maxLimit)
		}
	}
	return q, limit, nil
}

// onlyFailures reports whether only results that failed are asked for. Only then older ones than the last results are
// in the answer, of which only the failed and the slowest are kept: among all results they would make the target look
// worse than it was.
func (q query) onlyFailures() bool {
	outcomes := q["outcome"]
	return outcomes != nil && !slices.Contains(outcomes, string(probe.OK))
}

// wants reports whether a result is one of those that are asked for.
func (q query) wants(e *entry) bool {
	targets, outcomes := q["target"], q["outcome"]
	ofTarget := targets == nil || slices.Contains(targets, e.Target)
	ofOutcome := outcomes == nil || slices.Contains(outcomes, string(e.Outcome)) ||
		!e.OK() && slices.Contains(outcomes, failedOutcome)
	return ofTarget && ofOutcome
}

// serveResults answers with results, the newest first, and never has the text of all of them in memory.
func (b *Board) serveResults(w http.ResponseWriter, r *http.Request) {
	histories := b.copies()
	var targets []string
	for _, h := range histories {
		targets = append(targets, h.target.Name)
	}
	q, limit, err := parseQuery(r.URL.Query(), targets)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
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
	kind, before, between, after := "application/json", `{"status":"success","data":{"results":[`, ",", "]}}\n"
	if slices.Contains(q["format"], "jsonl") {
		kind, before, between, after = "application/x-ndjson", "", "", ""
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = io.WriteString(w, before)
	encoder := json.NewEncoder(w)
	for i, e := range all[:min(limit, len(all))] {
		if i > 0 {
			_, _ = io.WriteString(w, between)
		}
		if encoder.Encode(e.whole()) != nil {
			return // the client is gone
		}
	}
	_, _ = io.WriteString(w, after)
}
