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

// What is kept of each target. With answers of 100 tokens a full ring and the slowest of a day are about 1 MB.
const (
	ringSize   = 512       // last results
	failedSize = 32        // last failed results, of which the ring may have forgotten some
	maxBytes   = 4 << 20   // of all lists in the ring; the oldest results go if they need more
	window     = time.Hour // age up to which a result counts for quantiles and shares
)

// What is kept of all targets together: about 75 MB with answers of 100 tokens. 1,000 targets have 40 results each,
// which are the bars that the page shows, and 10 older ones.
const (
	allResults = 40_000
	allBytes   = 64 << 20
)

// A share is what one target may keep in its ring. Older results may take a quarter of that besides.
type share struct {
	results int
	bytes   int // of all their lists
}

// shareOf returns the share of each of so many targets.
func shareOf(targets int) share {
	return share{
		results: min(ringSize, allResults/targets),
		bytes:   min(maxBytes, allBytes/targets),
	}
}

// A history holds the results of one target. Those on the board are guarded by its lock.
type history struct {
	target   probe.Description
	problems usage.Problems // why the target is not probed; nil if it is
	ring     []*entry       // the last results, oldest first
	bytes    int            // of the lists of all entries in ring
	dropped  bool           // the ring had no room for some result
	earlier  []*entry       // those worth keeping that left the ring, oldest first: see [ranksOf]
	skipped  map[string]int // slots without a probe, by reason
	cache    *atomic.Pointer[cachedSummary]

	added         time.Time // when the target was first set or rejected
	rejectedSince time.Time // zero if its settings are right
	disabledSince time.Time // zero if it is enabled
	condition     condition
}

// add appends e to the ring, and drops what the share has no room for. The last result always stays. It updates the
// condition.
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
	h.assess()
}

// trimEarlier drops the earlier results that are not worth keeping, and those for which there is no room. The results
// of the highest rank are kept, of equal ranks the oldest.
func (h *history) trimEarlier(now time.Time, room share) {
	ranks := ranksOf(h.kept(), now.Add(-day))
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

// kept returns all results in memory, oldest first, in a new list.
func (h *history) kept() []*entry { return slices.Concat(h.earlier, h.ring) }

// since returns the results in the ring since t, oldest first, in a new list.
func (h *history) since(t time.Time) []*entry { return slices.Clone(h.ring[h.indexSince(t):]) }

// indexSince returns the index in the ring of the first result since t; the ring's length if there is none.
func (h *history) indexSince(t time.Time) int {
	return sort.Search(len(h.ring), func(i int) bool { return !h.ring[i].At.Before(t) })
}
