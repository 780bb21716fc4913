package promquery

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// midnight is when the ranges of the tests begin.
var midnight = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func hours(n int) timeRange {
	return timeRange{midnight, midnight.Add(time.Duration(n) * time.Hour)}
}

// A fake is a Prometheus that gives the result of the first query it has an answer for, and an empty one to all others.
// What PromQL makes of stored data is tested with a real Prometheus.
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
	result []map[string]any
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	if f.token = r.Header.Get("Authorization"); f.handler != nil {
		f.handler(w, r)
		return
	}
	f.asked = append(f.asked, query)
	result := []map[string]any{}
	for _, a := range f.answers {
		if !slices.ContainsFunc(strings.Fields(a.words), func(word string) bool { return !strings.Contains(query, word) }) {
			result = a.result
			break
		}
	}
	kind := map[string]string{"/api/v1/query": "vector", "/api/v1/query_range": "matrix"}[r.URL.Path]
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": "success", "warnings": f.warnings, "data": map[string]any{"resultType": kind, "result": result},
	})
}

// client serves f.
func (f *fake) client(t *testing.T) *client {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &client{base: base, token: "s3cret"}
}

// point is one sample of a vector, with labels as a=b.
func point(value float64, labels ...string) map[string]any {
	return map[string]any{"metric": metric(labels), "value": []any{0, fmt.Sprint(value)}}
}

// stream is a series of a matrix with these values, one each step.
func stream(from time.Time, step time.Duration, values []string, labels ...string) map[string]any {
	var points [][]any
	for i, v := range values {
		points = append(points, []any{float64(from.Add(time.Duration(i)*step).UnixMilli()) / 1e3, v})
	}
	return map[string]any{"metric": metric(labels), "values": points}
}

func metric(labels []string) map[string]string {
	m := map[string]string{"target": "a", "model": "m", "prompt": "cold"}
	for _, l := range labels {
		name, value, _ := strings.Cut(l, "=")
		m[name] = value
	}
	return m
}

// native is a vector's sample of a native histogram with 30 samples up to 0.25 s and 10 up to 0.5 s.
func native(labels ...string) map[string]any {
	return map[string]any{"metric": metric(labels), "histogram": []any{0, map[string]any{
		"count": "40", "sum": "10", "buckets": [][]any{{0, "0.125", "0.25", "30"}, {0, "0.25", "0.5", "10"}},
	}}}
}
