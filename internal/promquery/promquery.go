// Package promquery reads from a Prometheus what probers have stored there, and makes the same summaries and
// comparisons of it that a bench makes of its requests.
//
// What comes in is a [Request]: the flags of prober report, as they were typed. [Request.Parse] checks it and returns
// a [Query]; [Query.Run] asks Prometheus. What goes out is a report.Document. The statistics are those of
// internal/stats, and the names of metrics those of the catalog in internal/telemetry.
//
// A record is what is stored of one series: a target with its model and prompt, from one vantage. Start with Query.Run,
// then reader.records in read.go, which asks for the counters, latencies and error budgets of all records in PromQL.
// client.go has the HTTP and its errors. What the answers mean is in record.go, latency.go and budget.go, whose
// functions need no Prometheus. compare.go compares two records by periods.
package promquery

import (
	"context"
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
)

// A Query is a valid [Request] and, after [Query.Run], what Prometheus answered.
type Query struct {
	Document report.Document

	reader    reader
	selection selection
	other     *selection // the other side of a comparison, another range or another target; nil if there is none
}

// Run asks Prometheus, and fills the document.
func (q *Query) Run(ctx context.Context) error {
	records, err := q.reader.records(ctx, q.selection)
	if err != nil {
		return err
	}
	d := &q.Document
	d.Source = fmt.Sprintf("Prometheus at %s, %s; counts are increases, which it extrapolates to the ends of this range",
		q.reader.client.base, q.selection.span)
	d.Started = q.selection.span.from
	if q.other != nil {
		records, err = q.addOther(ctx, records)
		if err != nil {
			return err
		}
	}
	areTwoRanges := q.other != nil && q.other.span != q.selection.span
	for _, r := range records {
		if areTwoRanges {
			r.summary.Load = r.selection.span.String()
		}
		d.Summaries = append(d.Summaries, r.summary)
	}
	d.Warnings = q.reader.client.warnings
	return q.reader.client.err
}

// addOther reads the other side of a comparison, compares both, and returns the records of both. If one is of an
// earlier range, it comes first, because a difference is new − old.
func (q *Query) addOther(ctx context.Context, records []*record) ([]*record, error) {
	others, err := q.reader.records(ctx, *q.other)
	if err != nil {
		return nil, err
	}
	pairs, err := pairByVantage(records, others)
	if err != nil {
		return nil, err
	}
	var both []*record
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		if b.selection.span.from.Before(a.selection.span.from) {
			a, b = b, a
		}
		both = append(both, a, b)
		q.Document.Comparisons = append(q.Document.Comparisons, q.reader.compare(ctx, a, b))
	}
	for _, one := range slices.Concat(records, others) {
		if !slices.Contains(both, one) {
			both = append(both, one)
			one.warn("the other side has nothing from %s to compare it with", one.series.place())
		}
	}
	return both, nil
}

// pairByVantage pairs the records of two sides that were measured from the same place. If each side has only one
// record, they are a pair wherever they were measured: the user asked for just these.
func pairByVantage(side, other []*record) (pairs [][2]*record, err error) {
	for _, records := range [][]*record{side, other} {
		byVantage := map[string]*record{}
		for _, one := range records {
			first, isTaken := byVantage[one.series.vantage]
			if isTaken {
				return nil, fmt.Errorf("%s and %s have data %s: choose one with --match model=… or --match prompt=…",
					first.summary.Target, one.summary.Target, one.selection.span)
			}
			byVantage[one.series.vantage] = one
		}
	}
	if len(side) == 1 && len(other) == 1 {
		return [][2]*record{{side[0], other[0]}}, nil
	}
	for _, one := range side {
		i := slices.IndexFunc(other, func(r *record) bool { return r.series.vantage == one.series.vantage })
		if i >= 0 {
			pairs = append(pairs, [2]*record{one, other[i]})
		}
	}
	if pairs == nil {
		return nil, fmt.Errorf("nothing to compare: no place measured both sides, the one has data from %s, "+
			"the other from %s", placesOf(side), placesOf(other))
	}
	return pairs, nil
}

// placesOf returns from where records were measured, as a list in words.
func placesOf(records []*record) string {
	var places []string
	for _, one := range records {
		places = append(places, one.series.place())
	}
	return format.List(places)
}
