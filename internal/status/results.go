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

// Bounds of the parameter "limit".
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// failedOutcome is the value of the parameter "outcome" that stands for all outcomes but ok.
const failedOutcome = "failed"

// A query is what /api/v1/results was asked for.
type query struct {
	targets  []string // none: all
	outcomes []string // none: all
	formats  []string // with jsonl: one object a line, without an envelope
	limit    int
}

// parseQuery reads the parameters. All but "limit" may be repeated; unknown ones are ignored, as Prometheus does.
func parseQuery(values url.Values, targets []string) (q query, err error) {
	outcomes := []string{failedOutcome}
	for _, o := range probe.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	for _, p := range []struct {
		name    string
		allowed []string
		chosen  *[]string
	}{{"target", targets, &q.targets}, {"outcome", outcomes, &q.outcomes}, {"format", []string{"json", "jsonl"}, &q.formats}} {
		for _, v := range values[p.name] {
			switch {
			case v == "":
			case slices.Contains(p.allowed, v):
				*p.chosen = append(*p.chosen, v)
			default:
				want := cmp.Or(strings.Join(p.allowed, ", "), "the targets: there is none yet")
				return q, fmt.Errorf("invalid parameter %q: %q: want one of %s", p.name, v, want)
			}
		}
	}
	q.limit = defaultLimit
	if text := values.Get("limit"); text != "" {
		if q.limit, err = strconv.Atoi(text); err != nil || q.limit < 1 || q.limit > maxLimit {
			return q, fmt.Errorf("invalid parameter \"limit\": %q: want a number from 1 to %d", text, maxLimit)
		}
	}
	return q, nil
}

// wants reports whether the query asks for a result.
func (q query) wants(e *entry) bool {
	if len(q.targets) > 0 && !slices.Contains(q.targets, e.Target) {
		return false
	}
	return len(q.outcomes) == 0 || slices.Contains(q.outcomes, string(e.Outcome)) ||
		!e.OK() && slices.Contains(q.outcomes, failedOutcome)
}

// serveResults answers with results, the newest first, and never has the text of all of them in memory.
func (b *Board) serveResults(w http.ResponseWriter, r *http.Request) {
	var targets []string
	var all []*entry
	for _, h := range b.copies() {
		targets = append(targets, h.target.Name)
		all = append(all, h.kept()...)
	}
	q, err := parseQuery(r.URL.Query(), targets)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	all = slices.DeleteFunc(all, func(e *entry) bool { return !q.wants(e) })
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(b.Start.Compare(a.Start), b.At.Compare(a.At))
	})
	kind, before, between, after := "application/json", `{"status":"success","data":{"results":[`, ",", "]}}\n"
	if slices.Contains(q.formats, "jsonl") {
		kind, before, between, after = "application/x-ndjson", "", "", ""
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = io.WriteString(w, before)
	encoder := json.NewEncoder(w)
	for i, e := range all[:min(q.limit, len(all))] {
		if i > 0 {
			_, _ = io.WriteString(w, between)
		}
		if encoder.Encode(e.account()) != nil {
			return // the client is gone
		}
	}
	_, _ = io.WriteString(w, after)
}
