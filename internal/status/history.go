package status

import (
	"cmp"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// What is kept of each prompt. With answers of 100 tokens a full ring and the slowest of a day are about 1 MB.
const (
	ringSize   = 512       // last results
	failedSize = 32        // last failed results, of which the ring may have forgotten some
	slowCount  = 3         // slowest results of any time of the last day, by each quantity
	maxBytes   = 4 << 20   // of all lists in the ring; the oldest results go if they need more
	window     = time.Hour // age up to which a result counts for quantiles and shares
	day        = 24 * time.Hour
)

// What is kept of all prompts together: about 75 MB with answers of 100 tokens. 1,000 prompts have 40 results each,
// which are the bars that the page shows, and 10 older ones. The prompts of a target share its rate, so that their
// shorter rings last as long as one of a target with a single prompt.
const (
	allResults = 40_000
	allBytes   = 64 << 20
)

// A share is what one prompt may keep in its ring. Older results may take a quarter of that besides.
type share struct {
	results int
	bytes   int // of all their lists
}

// shareOf returns the share of each of that many prompts.
func shareOf(prompts int) share {
	return share{
		results: min(ringSize, allResults/prompts),
		bytes:   min(maxBytes, allBytes/prompts),
	}
}

// A history holds the results of one prompt of a target. Those on the board are guarded by its lock.
type history struct {
	target   probe.Description
	problems usage.Problems // why the target is not probed; nil if it is
	ring     []*entry       // the last results, oldest first
	bytes    int            // of the lists of all entries in ring
	dropped  bool           // the ring had no room for some result
	earlier  []*entry       // results worth keeping that left the ring, oldest first: see [ranksOf]
	skipped  map[string]int // slots without a probe, by reason
	cache    *atomic.Pointer[cachedSummary]

	added         time.Time // when the target was first set or rejected
	rejectedSince time.Time // zero if its settings are right
	disabledSince time.Time // zero if it is enabled
	condition     condition
	health        health
	several       bool   // its target has other prompts; set in copies only
	usual         *usual // only the holder of the board's lock uses it: copies share it
}

// add appends e to the ring, and drops what the share has no room for. The last result always stays.
func (h *history) add(e *entry, s share) {
	h.ring = append(h.ring, e)
	h.bytes += e.size()
	for len(h.ring) > 1 && (len(h.ring) > s.results || h.bytes > s.bytes) {
		oldest := h.ring[0]
		h.ring = slices.Delete(h.ring, 0, 1)
		h.bytes -= oldest.size()
		h.earlier = append(h.earlier, oldest)
		h.dropped = true
	}
	if len(h.earlier) > 0 {
		h.trimEarlier(e.At, share{results: s.results / 4, bytes: s.bytes / 4})
	}
}

// trimEarlier drops the earlier results that are not worth keeping, and the results for which there is no room. The
// results of the highest rank stay, of equal ranks the oldest.
func (h *history) trimEarlier(now time.Time, room share) {
	ranks := ranksOf(h.results(), now.Add(-day))
	best := slices.Clone(h.earlier)
	slices.SortStableFunc(best, func(a, b *entry) int { return cmp.Compare(ranks[b], ranks[a]) })
	for _, e := range best {
		room.results--
		room.bytes -= e.size()
		if room.results < 0 || room.bytes < 0 {
			delete(ranks, e)
		}
	}
	h.earlier = slices.DeleteFunc(h.earlier, func(e *entry) bool { return ranks[e] == 0 })
}

// last returns the latest result; nil if there is none.
func (h *history) last() *entry {
	if len(h.ring) == 0 {
		return nil
	}
	return h.ring[len(h.ring)-1]
}

// newest returns the last n results, or all if there are fewer, oldest first.
func (h *history) newest(n int) []*entry { return h.ring[max(0, len(h.ring)-n):] }

// results returns all results in memory, oldest first, in a new list.
func (h *history) results() []*entry { return slices.Concat(h.earlier, h.ring) }

// since returns the results in the ring since t, oldest first.
func (h *history) since(t time.Time) []*entry {
	first := sort.Search(len(h.ring), func(i int) bool { return !h.ring[i].At.Before(t) })
	return h.ring[first:]
}

// A quantity is a latency by which results are compared.
type quantity struct {
	Name    string
	ValueOf func(*entry) *float64 // in seconds; nil if the result has no such latency
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
			v := q.ValueOf(e)
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

// slowest returns the slowest successes in the list since a time, the slowest first.
func (q quantity) slowest(list []*entry, since time.Time) []*entry {
	list = slices.DeleteFunc(slices.Clone(list), func(e *entry) bool {
		return !e.OK() || q.ValueOf(e) == nil || e.At.Before(since)
	})
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(*q.ValueOf(b), *q.ValueOf(a)) })
	return list[:min(slowCount, len(list))]
}
