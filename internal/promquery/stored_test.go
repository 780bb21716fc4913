package promquery

import (
	"context"
	"strings"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// midnight is when the ranges of the tests begin.
var midnight = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// sixHours is the range of most tests.
var sixHours = timeRange{from: midnight, to: midnight.Add(6 * time.Hour)}

// A stored is a Prometheus that notes its queries. It answers one with the value whose key the query begins with, and
// all others with nothing.
type stored struct {
	promv1.API // other methods are not called

	vectors  map[string]model.Vector
	matrices map[string]model.Matrix
	warnings promv1.Warnings // of each answer
	asked    []string
}

func (s *stored) Query(
	_ context.Context, query string, at time.Time, _ ...promv1.Option,
) (model.Value, promv1.Warnings, promv1.Infos, error) {
	s.asked = append(s.asked, "at "+timestamp(at)+"\n"+query)
	return answerTo(query, s.vectors), s.warnings, nil, nil
}

func (s *stored) QueryRange(
	_ context.Context, query string, r promv1.Range, _ ...promv1.Option,
) (model.Value, promv1.Warnings, promv1.Infos, error) {
	s.asked = append(s.asked, timeRange{r.Start, r.End}.String()+" every "+duration(r.Step)+"\n"+query)
	return answerTo(query, s.matrices), s.warnings, nil, nil
}

// answerTo returns the value whose key a query begins with, or the zero value.
func answerTo[V any](query string, values map[string]V) (answer V) {
	for beginning, value := range values {
		if strings.HasPrefix(query, beginning) {
			return value
		}
	}
	return answer
}

// query returns the query of a request from midnight to six, or to another time.
func (s *stored) query(t *testing.T, r Request) *Query {
	t.Helper()
	r.Prometheus, r.BudgetWindow = "http://prometheus:9090", "30d"
	r.From = midnight.Format(time.RFC3339)
	if r.To == "" {
		r.To = sixHours.to.Format(time.RFC3339)
	}
	q, problems := r.Parse(midnight)
	if problems != nil {
		t.Fatal(problems)
	}
	q.reader.client.api = s
	return q
}

// sample returns a value of target a. The labels, name=value, are further ones or replace its own.
func sample(value float64, labels ...string) *model.Sample {
	metric := model.Metric{"target": "a", "model": "m", "prompt": "cold"}
	for _, l := range labels {
		name, value, _ := strings.Cut(l, "=")
		metric[model.LabelName(name)] = model.LabelValue(value)
	}
	return &model.Sample{Metric: metric, Value: model.SampleValue(value)}
}

// counted is how queries for requests by outcome begin.
const counted = "sum by (target, model, prompt, vantage, outcome) (increase(llm_probe_probes_total{"

// TestQueries holds the texts of the queries. What Prometheus makes of them is tested with a real one.
func TestQueries(t *testing.T) {
	s := &stored{}
	q := s.query(t, Request{Targets: []string{"a", "b.c"}, Match: []string{"job=prober"}})
	ttft := report.Quantities()[0]
	found := q.reader.readCounters(t.Context(), q.selection)
	q.reader.readLatency(t.Context(), q.selection, found, ttft)
	q.reader.readPresence(t.Context(), q.selection, found)
	q.reader.readObjectives(t.Context(), q.selection, found)
	one := found.recordOf(sample(0, "target=b.c", "vantage=eu-1").Metric)
	q.reader.means(t.Context(), one.selection, ttft, 20)
	golden.Equal(t, "testdata/queries.txt", strings.Join(s.asked, "\n\n")+"\n")
}
