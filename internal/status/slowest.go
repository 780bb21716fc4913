package status

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// slowCount is how many results are shown as the slowest of the last hour and of the
// last day, by each quantity.
const (
	slowCount = 3
	day       = 24 * time.Hour
)

// slowness are the quantities by which a result is slow.
var slowness = [...]struct {
	name string
	of   func(*entry) *float64
}{
	{"TTFT", func(e *entry) *float64 { return e.TTFT }},
	{"longest gap", func(e *entry) *float64 { return e.MaxGap }},
	{"TPOT", func(e *entry) *float64 { return e.TPOT }},
}

// ranksOf are the ranks of those entries, oldest first, that are worth keeping: the last failures, and the successes
// since a time that are among the slowest since any time by some quantity. A success with so many later ones that
// are as slow has the rank slowCount less that number, by the quantity by which it is the highest. Usually about 80
// of the 8,640 results of a day have one.
func ranksOf(list []*entry, since time.Time) map[*entry]int {
	ranks, failures := map[*entry]int{}, 0
	var later [len(slowness)][]float64 // the slowest by each quantity, the slowest first
	for _, e := range slices.Backward(list) {
		if !e.OK() {
			if failures++; failures <= failedSize {
				ranks[e] = 1
			}
			continue
		}
		for q, quantity := range slowness {
			v := quantity.of(e)
			if v == nil || e.At.Before(since) {
				continue
			}
			slower := sort.Search(len(later[q]), func(i int) bool { return later[q][i] < *v })
			ranks[e] = max(ranks[e], slowCount-slower)
			later[q] = slices.Insert(later[q], slower, *v)
			later[q] = later[q][:min(slowCount, len(later[q]))]
		}
	}
	return ranks
}

// A slowRow is the slowest results by one quantity.
type slowRow struct {
	Name      string
	Hour, Day []slowLink
}

// A slowLink is one of them.
type slowLink struct {
	TraceID string
	Value   *float64 // seconds
}

// Slowest are the rows of the table of the slowest results; nil if there is none of the
// last day.
func (v *view) Slowest() (rows []slowRow) {
	now := time.Now()
	for q, quantity := range slowness {
		row := slowRow{quantity.name, slowest(v.past.kept(), q, now.Add(-window)), slowest(v.past.kept(), q, now.Add(-day))}
		if row.Day != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// slowest are the successes of the list since a time, the slowest first.
func slowest(list []*entry, q int, since time.Time) (links []slowLink) {
	for _, e := range list {
		if v := slowness[q].of(e); v != nil && e.OK() && !e.At.Before(since) {
			links = append(links, slowLink{e.TraceID, v})
		}
	}
	slices.SortStableFunc(links, func(a, b slowLink) int { return cmp.Compare(*b.Value, *a.Value) })
	return links[:min(slowCount, len(links))]
}
