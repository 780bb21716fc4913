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

// addOther reads the other side of a comparison, compares both, and returns the records of both. If one is of an
// earlier range, it comes first, because a difference is new − old.
func (q *Query) addOther(ctx context.Context, records []*record) ([]*record, error) {
	others, err := q.other.records(ctx)
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
		if b.span.from.Before(a.span.from) {
			a, b = b, a
		}
		both = append(both, a, b)
		q.Document.Comparisons = append(q.Document.Comparisons, q.reader.compare(ctx, a, b))
	}
	for _, one := range slices.Concat(records, others) {
		if !slices.Contains(both, one) {
			both = append(both, one)
			one.warn("the other side has nothing from %s to compare it with", one.place())
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
			first, isTaken := byVantage[one.vantage]
			if isTaken {
				return nil, fmt.Errorf("%s and %s have data %s: choose one with --match model=… or --match prompt=…",
					first.summary.Target, one.summary.Target, one.span)
			}
			byVantage[one.vantage] = one
		}
	}
	if len(side) == 1 && len(other) == 1 {
		return [][2]*record{{side[0], other[0]}}, nil
	}
	for _, one := range side {
		i := slices.IndexFunc(other, func(r *record) bool { return r.vantage == one.vantage })
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
		places = append(places, one.place())
	}
	return format.List(places)
}

// twoRanges reports whether two ranges of time are compared.
func (q *Query) twoRanges() bool { return q.other != nil && q.other.span != q.reader.span }
