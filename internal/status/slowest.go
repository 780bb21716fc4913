package status

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// slowCount is how many results are shown as the slowest of the last hour and of the last day, by each quantity.
const (
	slowCount = 3
	day       = 24 * time.Hour
)

// A quantity is one by which a result is slow, in seconds; nil if it has none.
type quantity struct {
	Name string
	Of   func(*entry) *float64
}

var slowness = [...]quantity{
	{"TTFT", func(e *entry) *float64 { return e.TTFT }},
	{"longest gap", func(e *entry) *float64 { return e.MaxGap }},
	{"TPOT", func(e *entry) *float64 { return e.TPOT }},
}

// ranksOf returns the ranks of the entries that are worth keeping; list has the oldest first. The last failures rank
// above all successes. The rank of a success since a time is slowCount less the number of later successes that are at
// least as slow, by the quantity by which that is the highest; at 0 and below it is not kept. Usually about 80 of the
// 8,640 results of a day have a rank.
func ranksOf(list []*entry, since time.Time) map[*entry]int {
	ranks, failures := map[*entry]int{}, 0
	var later [len(slowness)][]float64 // the slowest by each quantity, the slowest first
	for _, e := range slices.Backward(list) {
		if !e.OK() {
			failures++
			if failures <= failedSize {
				ranks[e] = slowCount + 1 + failedSize - failures
			}
			continue
		}
		for q, quantity := range slowness {
			v := quantity.Of(e)
			if v == nil || e.At.Before(since) {
				continue
			}
			slower := sort.Search(len(later[q]), func(i int) bool { return later[q][i] < *v })
			rank := slowCount - slower
			if rank > ranks[e] {
				ranks[e] = rank
			}
			later[q] = slices.Insert(later[q], slower, *v)
			later[q] = later[q][:min(slowCount, len(later[q]))]
		}
	}
	return ranks
}

// A slowRow is the slowest results of the last hour and of the last day by one quantity.
type slowRow struct {
	quantity
	Times [2][]*entry
}

// Slowest returns the rows of the table of the slowest results; nil if there is none of the last day.
func (v *view) Slowest() (rows []slowRow) {
	list, now := v.past.kept(), time.Now()
	for _, q := range slowness {
		row := slowRow{q, [...][]*entry{q.slowest(list, now.Add(-window)), q.slowest(list, now.Add(-day))}}
		if len(row.Times[1]) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// slowest returns the slowest successes of the list since a time, the slowest first.
func (q quantity) slowest(list []*entry, since time.Time) []*entry {
	list = slices.DeleteFunc(slices.Clone(list), func(e *entry) bool {
		return !e.OK() || q.Of(e) == nil || e.At.Before(since)
	})
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(*q.Of(b), *q.Of(a)) })
	return list[:min(slowCount, len(list))]
}
