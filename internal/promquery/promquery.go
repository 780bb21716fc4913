// Package promquery reads from a Prometheus what probers have stored there, and makes the same summaries and
// comparisons of it that a bench makes of its requests.
//
// What comes in is a [Request]: the flags of prober report, as they were typed. [Request.Parse] checks it and returns
// a [Query]. [Query.Run] asks Prometheus and returns a [report.Document]. The statistics are those of internal/stats,
// and the names of metrics those of the catalog in internal/telemetry.
//
// A record is what is stored of one series: a target with its model and prompt, from one vantage. Start with Query.Run,
// then reader.records in read.go, which asks for the counters, latencies and error budgets of all records in PromQL.
// What the answers mean is in record.go, latency.go and budget.go, whose functions need no Prometheus. compare.go
// compares two records by periods. client.go has the HTTP and its errors.
package promquery

import (
	"context"
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
)

// A Query is a [Request] that is valid.
type Query struct {
	reader    reader
	selection selection
	other     *selection // the other side of a comparison, another range or another target; nil if there is none
}

// Run asks Prometheus. It returns the summaries of all records and, if there is another side, comparisons with it. The
// error of a query says what to do about it.
func (q *Query) Run(ctx context.Context) (report.Document, error) {
	records, err := q.reader.records(ctx, q.selection)
	if err != nil {
		return report.Document{}, err
	}
	d := report.Document{
		Source: fmt.Sprintf("Prometheus at %s, %s; counts are increases, which it extrapolates to the ends of this range",
			q.reader.client.base, q.selection.span),
		Started: q.selection.span.from,
	}
	areTwoRanges := false
	if q.other != nil {
		areTwoRanges = q.other.span != q.selection.span
		records, d.Comparisons, err = q.compareSides(ctx, records)
		if err != nil {
			return report.Document{}, err
		}
	}
	for _, r := range records {
		if areTwoRanges {
			r.summary.Load = r.selection.span.String()
		}
		d.Summaries = append(d.Summaries, r.summary)
	}
	d.Warnings = q.reader.client.warnings
	return d, q.reader.client.err
}

// compareSides reads the other side, and compares it with the records of this one. It returns the records of both
// sides. Of a pair, the record of the earlier range comes first, because a difference is new − old.
func (q *Query) compareSides(ctx context.Context, records []*record) ([]*record, []report.Comparison, error) {
	others, err := q.reader.records(ctx, *q.other)
	if err != nil {
		return nil, nil, err
	}
	pairs, err := pairByVantage(records, others)
	if err != nil {
		return nil, nil, err
	}
	var both []*record
	var comparisons []report.Comparison
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		if b.selection.span.from.Before(a.selection.span.from) {
			a, b = b, a
		}
		both = append(both, a, b)
		comparisons = append(comparisons, q.reader.compare(ctx, a, b))
	}
	for _, one := range slices.Concat(records, others) {
		if !slices.Contains(both, one) {
			both = append(both, one)
			one.warn("the other side has nothing from %s to compare it with", one.series.vantageText())
		}
	}
	return both, comparisons, nil
}

// pairByVantage pairs the records of two sides that were measured from the same place. If each side has only one
// record, they are a pair wherever they were measured: the user asked for just these. It is an error if a side has two
// records from one place, or if there is no pair.
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
			"the other from %s", vantagesOf(side), vantagesOf(other))
	}
	return pairs, nil
}

// vantagesOf returns from where records were measured, as a list in words.
func vantagesOf(records []*record) string {
	var vantages []string
	for _, one := range records {
		vantages = append(vantages, one.series.vantageText())
	}
	return format.List(vantages)
}
