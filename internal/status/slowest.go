package status

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

const (
	slowCount = 3 // results that are shown as the slowest of the last hour and of the last day, by each quantity
	day       = 24 * time.Hour
)

// A quantity is a latency by which results are compared.
type quantity struct {
	Name string
	Of   func(*entry) *float64 // in seconds; nil if the result has no such latency
}

// slowness lists the quantities by which a result can be one of the slowest.
var slowness = [...]quantity{
	{"TTFT", func(e *entry) *float64 { return e.TTFT }},
	{"longest gap", func(e *entry) *float64 { return e.MaxGap }},
	{"TPOT", func(e *entry) *float64 { return e.TPOT }},
}

// ranksOf returns the ranks of the entries in list that are worth keeping, which are above 0. The list has the oldest
// entry first.
//
// The last failures rank above all successes. A success is worth keeping as long as it can be one of the slowest of a
// time that ends now: if, by some quantity, fewer than slowCount later successes are at least as slow. Its rank is
// slowCount less their number, by the quantity by which that is the highest. Successes before since have no rank.
// Usually about 80 of the 8,640 results of a day have one.
func ranksOf(list []*entry, since time.Time) map[*entry]int {
	ranks := map[*entry]int{}
	failures := 0
	var slowest [len(slowness)][]float64 // of the later successes by each quantity, the slowest first
	for _, e := range slices.Backward(list) {
		if !e.OK() {
			failures++
			if failures <= failedSize {
				ranks[e] = slowCount + 1 + failedSize - failures
			}
			continue
		}
		for i, q := range slowness {
			v := q.Of(e)
			if v == nil || e.At.Before(since) {
				continue
			}
			slower := sort.Search(len(slowest[i]), func(n int) bool { return slowest[i][n] < *v })
			rank := slowCount - slower
			if rank > ranks[e] {
				ranks[e] = rank
			}
			slowest[i] = slices.Insert(slowest[i], slower, *v)
			slowest[i] = slowest[i][:min(slowCount, len(slowest[i]))]
		}
	}
	return ranks
}

// A slowRow is the slowest results by one quantity.
type slowRow struct {
	quantity
	Hour, Day []*entry // of the last hour and of the last day
}

// Slowest returns the rows of the table of the slowest results. A quantity that no result of the last day has is left
// out.
func (v *view) Slowest() (rows []slowRow) {
	list := v.history.kept()
	now := time.Now()
	for _, q := range slowness {
		row := slowRow{quantity: q, Hour: q.slowest(list, now.Add(-window)), Day: q.slowest(list, now.Add(-day))}
		if len(row.Day) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// slowest returns the slowest successes in the list since a time, the slowest first.
func (q quantity) slowest(list []*entry, since time.Time) []*entry {
	list = slices.DeleteFunc(slices.Clone(list), func(e *entry) bool {
		return !e.OK() || q.Of(e) == nil || e.At.Before(since)
	})
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(*q.Of(b), *q.Of(a)) })
	return list[:min(slowCount, len(list))]
}
