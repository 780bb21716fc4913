package promquery

import (
	"context"
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/report"
)

// A Query is a valid [Request] and, after [Query.Run], what Prometheus answered.
type Query struct {
	Document report.Document

	reader reader
	other  *reader // of the other side of a comparison, another range or another target; nil if there is none
}

// Run asks Prometheus, and fills the document.
func (q *Query) Run(ctx context.Context) error {
	records, err := q.reader.records(ctx)
	if err != nil {
		return err
	}
	d := &q.Document
	d.Source = fmt.Sprintf("Prometheus at %s, %s; counts are increases, which it extrapolates to the ends of this range",
		q.reader.base, q.reader.span)
	d.Started = q.reader.span.from
	if q.other != nil {
		records, err = q.addOther(ctx, records)
		if err != nil {
			return err
		}
		d.Comparisons = []report.Comparison{q.reader.compare(ctx, records[0], records[1])}
	}
	for _, r := range records {
		if q.twoRanges() {
			r.summary.Load = r.span.String()
		}
		d.Summaries = append(d.Summaries, r.summary)
	}
	d.Warnings = q.reader.warnings
	return q.reader.err
}

// addOther reads the other side of a comparison, and returns both records. If one is of an earlier range, it comes
// first, because a difference is new − old.
func (q *Query) addOther(ctx context.Context, records []*record) ([]*record, error) {
	others, err := q.other.records(ctx)
	if err != nil {
		return nil, err
	}
	for _, side := range [][]*record{records, others} {
		if len(side) > 1 {
			return nil, fmt.Errorf("%s and %s have data %s: choose one with --match model=… or --match prompt=…",
				side[0].summary.Target, side[1].summary.Target, side[0].span)
		}
	}
	both := slices.Concat(records, others)
	if both[1].span.from.Before(both[0].span.from) {
		slices.Reverse(both)
	}
	return both, nil
}

// twoRanges reports whether two ranges of time are compared.
func (q *Query) twoRanges() bool { return q.other != nil && q.other.span != q.reader.span }
