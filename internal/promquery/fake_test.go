package promquery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// midnight is when the ranges of the tests begin.
var midnight = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// A fake is a Prometheus that gives the result of the first answer for a query, of the target that it names if it names
// one, and an empty result to all others. What PromQL makes of stored data is tested with a real Prometheus.
type fake struct {
	answers  []answer
	warnings []string
	handler  http.HandlerFunc // instead of the answers
	asked    []string
	token    string // that was sent last
}

// An answer is for queries that contain all words.
type answer struct {
	words  string // separated by spaces
	result []sample
}

// A sample is one of a vector or a matrix, as Prometheus' JSON has it.
type sample map[string]any

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	f.asked, f.token = append(f.asked, query), r.Header.Get("Authorization")
	if f.handler != nil {
		f.handler(w, r)
		return
	}
	result := f.resultOf(query)
	kind := "vector"
	if strings.HasSuffix(r.URL.Path, "/query_range") {
		kind = "matrix"
		result = slices.DeleteFunc(result, func(s sample) bool { return s["values"] == nil })
	}
	data := map[string]any{"resultType": kind, "result": result}
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "warnings": f.warnings, "data": data})
}

// resultOf returns the result of the first answer for a query, without samples of targets that the query does not name.
func (f *fake) resultOf(query string) []sample {
	isMissing := func(word string) bool { return !strings.Contains(query, word) }
	isOfOtherTarget := func(s sample) bool {
		target := s["metric"].(map[string]string)["target"]
		return strings.Contains(query, "target=") && !strings.Contains(query, fmt.Sprintf("target=%q", target))
	}
	for _, a := range f.answers {
		if !slices.ContainsFunc(strings.Fields(a.words), isMissing) {
			return slices.DeleteFunc(append([]sample{}, a.result...), isOfOtherTarget)
		}
	}
	return []sample{}
}

// client serves f.
func (f *fake) client(t *testing.T) *client {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	c, err := newClient(server.URL, transport{"s3cret", 1000_000})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run asks f for six hours, unless r says otherwise.
func run(t *testing.T, f *fake, r Request) (*Query, error) {
	t.Helper()
	r.BudgetWindow = "30d"
	r.Prometheus, r.From = f.client(t).base, midnight.Format(time.RFC3339)
	r.To = cmp.Or(r.To, midnight.Add(6*time.Hour).Format(time.RFC3339))
	query, problems := r.Parse(midnight)
	if problems != nil {
		t.Fatal(problems)
	}
	return query, query.Run(t.Context())
}

// point returns one sample of a vector, with labels as a=b.
func point(value float64, labels ...string) sample {
	metric := map[string]string{"target": "a", "model": "m", "prompt": "cold"}
	for _, l := range labels {
		name, value, _ := strings.Cut(l, "=")
		metric[name] = value
	}
	return sample{"metric": metric, "value": []any{0, fmt.Sprint(value)}}
}

// native returns a sample of a native histogram with 30 samples in its zero bucket, up to 0.25 s, and 10 up to 0.5 s.
func native(labels ...string) sample {
	return sample{"metric": point(0, labels...)["metric"], "histogram": []any{0, map[string]any{
		"count": "40", "sum": "10", "buckets": [][]any{{3, "-0.25", "0.25", "30"}, {0, "0.25", "0.5", "10"}},
	}}}
}
