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

// failedOutcome is the value of the parameter "outcome" that stands for all
// outcomes but ok.
const failedOutcome = "failed"

// A query is what /api/v1/results was asked for.
type query struct {
	targets  []string // none: all
	outcomes []string // none: all
	limit    int
	lines    bool // one object a line, without an envelope
}

// parseQuery reads the parameters. "target" and "outcome" may be repeated; empty
// ones count as not given; the rest is ignored, as Prometheus does. The error
// names the parameter and what it may be.
func parseQuery(values url.Values, names []string) (query, error) {
	q := query{limit: defaultLimit}
	var err error
	if q.targets, err = choices(values, "target", names); err != nil {
		return q, err
	}
	if q.outcomes, err = choices(values, "outcome", outcomeNames()); err != nil {
		return q, err
	}
	format, err := choices(values, "format", []string{"json", "jsonl"})
	if err != nil {
		return q, err
	}
	q.lines = slices.Contains(format, "jsonl")
	if text := values.Get("limit"); text != "" {
		if q.limit, err = strconv.Atoi(text); err != nil || q.limit < 1 || q.limit > maxLimit {
			return q, fmt.Errorf("invalid parameter \"limit\": %q: want a number from 1 to %d", text, maxLimit)
		}
	}
	return q, nil
}

// choices are the values of a parameter, each of which must be allowed.
func choices(values url.Values, name string, allowed []string) ([]string, error) {
	var list []string
	for _, v := range values[name] {
		switch {
		case v == "":
		case slices.Contains(allowed, v):
			list = append(list, v)
		case len(allowed) == 0:
			return nil, fmt.Errorf("invalid parameter %q: %q: there is none yet", name, v)
		default:
			return nil, fmt.Errorf("invalid parameter %q: %q: want one of %s", name, v, strings.Join(allowed, ", "))
		}
	}
	return list, nil
}

func outcomeNames() []string {
	names := []string{failedOutcome}
	for _, o := range probe.Outcomes() {
		names = append(names, string(o))
	}
	return names
}

// wants reports whether the query asks for a result.
func (q query) wants(a *probe.Account) bool {
	if len(q.targets) > 0 && !slices.Contains(q.targets, a.Target) {
		return false
	}
	return len(q.outcomes) == 0 || slices.Contains(q.outcomes, string(a.Outcome)) ||
		a.Outcome != probe.OK && slices.Contains(q.outcomes, failedOutcome)
}

// apply picks the results that q wants, those that started last first.
func (q query) apply(all []*entry) []*entry {
	var list []*entry
	for _, e := range all {
		if q.wants(&e.account) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int {
		if c := b.account.Start.Compare(a.account.Start); c != 0 {
			return c
		}
		return cmp.Compare(b.number, a.number)
	})
	return list[:min(q.limit, len(list))]
}

func (b *Board) serveResults(w http.ResponseWriter, r *http.Request) {
	names, all := b.everything()
	q, err := parseQuery(r.URL.Query(), names)
	if err != nil {
		badData(w, err)
		return
	}
	list := q.apply(all)
	if q.lines {
		w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
		_ = writeAccounts(w, list, "\n")
		if len(list) > 0 {
			_, _ = io.WriteString(w, "\n")
		}
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = io.WriteString(w, `{"status":"success","data":{"results":[`)
	_ = writeAccounts(w, list, ",\n")
	_, _ = io.WriteString(w, "]}}\n")
}

// everything is the names of all targets and all their results.
func (b *Board) everything() (names []string, all []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range b.names {
		all = append(all, b.histories[name].kept()...)
	}
	return slices.Clone(b.names), all
}

// writeAccounts writes one account after the other, so that the text of all of
// them is never in memory.
func writeAccounts(w io.Writer, list []*entry, separator string) error {
	for i, e := range list {
		text, err := json.Marshal(e.account)
		if err != nil {
			return fmt.Errorf("encode result: %w", err)
		}
		if i > 0 {
			text = append([]byte(separator), text...)
		}
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	}
	return nil
}
