package status

import (
	"cmp"
	"slices"
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

// A slow is a success that is one of the slowest since some time of the last day. For
// each quantity it knows how many later ones are as slow or slower.
type slow struct {
	*entry
	later [len(slowness)]int
}

// rank is how many later ones are as slow, by the quantity by which the fewest are.
func (s slow) rank() int { return slices.Min(s.later[:]) }

// withSlow is the list, oldest first, with e, and without those that are older than a
// day or behind slowCount later ones by every quantity: so it has the slowest since any
// time, usually about 80 results for a day of 8,640. Beyond a quarter of the target's
// share those go that most others outdo, and of these the newest, which the ring has too.
func withSlow(list []slow, e *entry, s share) []slow {
	added, numbers := slow{entry: e}, e.numbers()
	for q, quantity := range slowness {
		v := quantity.of(e)
		if v == nil {
			added.later[q] = slowCount
			continue
		}
		for i := range list {
			if w := quantity.of(list[i].entry); w != nil && *w <= *v {
				list[i].later[q]++
			}
		}
	}
	list = slices.DeleteFunc(list, func(old slow) bool { return e.At.Sub(old.At) > day || old.rank() >= slowCount })
	list = append(list, added)
	for _, old := range list[:len(list)-1] {
		numbers += old.numbers()
	}
	for len(list) > 1 && (len(list) > s.results/4 || numbers > s.numbers/4) {
		least := 0
		for i := range list {
			if list[i].rank() >= list[least].rank() {
				least = i
			}
		}
		numbers -= list[least].numbers()
		list = slices.Delete(list, least, least+1)
	}
	return list
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
		row := slowRow{quantity.name, slowest(v.past.slow, q, now.Add(-window)), slowest(v.past.slow, q, now.Add(-day))}
		if row.Day != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// slowest are those of the list since a time, the slowest first.
func slowest(list []slow, q int, since time.Time) (links []slowLink) {
	for _, s := range list {
		if v := slowness[q].of(s.entry); v != nil && !s.At.Before(since) {
			links = append(links, slowLink{s.TraceID, v})
		}
	}
	slices.SortStableFunc(links, func(a, b slowLink) int { return cmp.Compare(*b.Value, *a.Value) })
	return links[:min(slowCount, len(links))]
}
