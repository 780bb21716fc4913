package status

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// What is kept of each target. With answers of 100 tokens a full ring and the slowest of a day are about 0.9 MB;
// maxNumbers bounds the ring at 16 MB and the slowest at 4 MB, whatever a server sends.
const (
	ringSize   = 512       // last results
	failedSize = 32        // last failed results, of which the ring may have forgotten some
	window     = time.Hour // age up to which a result counts for quantiles and shares
	maxNumbers = 1 << 21   // numbers in all lists of the ring; beyond, the oldest results go
	maxList    = 4096      // numbers in one list of one result; the rest is cut off
	maxText    = 1000      // characters of a text that a server may have written
)

// What is kept of all targets together: about 80 MB with answers of 100 tokens. 1,000 targets have 40 results each,
// which are the bars that the page shows, and 10 of the slowest.
const (
	allResults = 40_000
	allNumbers = 1 << 24
)

// A share is what a target may keep: results, and numbers in all their lists.
type share struct{ results, numbers int }

// shareOf is the share of each of so many targets.
func shareOf(targets int) share {
	return share{min(ringSize, allResults/targets), min(maxNumbers, allNumbers/targets)}
}

// An entry is one result as the board keeps it. It is made once and then only read, so it may be shared.
type entry struct {
	probe.Account                   // without ITL if single
	single        bool              // ITL is the gaps: one token a frame, none in bursts
	At            time.Time         // when it was recorded
	good, bad     []probe.Objective // that it met and that it missed, as they were at its time
}

// newEntry makes an entry with lists of at most maxList numbers and texts of at
// most maxText characters. A warning says so where a list was cut.
func newEntry(r *probe.Result) *entry {
	a := report.Account(r)
	if n := max(len(a.Arrivals), len(a.ITL), len(a.TokensPerFrame)); n > maxList {
		a.Warnings = append(a.Warnings,
			fmt.Sprintf("the status page keeps the first %d numbers of each list; the longest had %d", maxList, n))
	}
	a.Arrivals, a.ITL = first(a.Arrivals), first(a.ITL)
	a.Uncertain, a.JoinedPerFrame, a.TokensPerFrame = first(a.Uncertain), first(a.JoinedPerFrame), first(a.TokensPerFrame)
	for i, w := range a.Warnings {
		a.Warnings[i] = format.Shorten(w, maxText)
	}
	for _, text := range []*string{a.Error, a.FinishReason} {
		if text != nil {
			*text = format.Shorten(*text, maxText)
		}
	}
	e := &entry{Account: a}
	if e.single = slices.Equal(a.ITL, gaps(&a)); e.single {
		e.ITL = nil
	}
	return e
}

// judge notes which of the objectives of its time r met. It is recorded now.
func (e *entry) judge(r *probe.Result, objectives []probe.Objective) {
	e.At = time.Now()
	for _, o := range objectives {
		switch good, ok := o.Judge(r); {
		case good && ok:
			e.good = append(e.good, o)
		case ok:
			e.bad = append(e.bad, o)
		}
	}
}

// account is the whole account.
func (e *entry) account() probe.Account {
	a := e.Account
	if e.single {
		a.ITL = gaps(&a)
	}
	return a
}

func gaps(a *probe.Account) (list []float64) {
	for _, gap := range a.Gaps() {
		list = append(list, gap)
	}
	return list
}

// first is the first maxList of a list, in memory of their own if there are more.
func first[T any](list []T) []T {
	if len(list) <= maxList {
		return list
	}
	return slices.Clone(list[:maxList])
}

// OK reports whether the probe succeeded.
func (e *entry) OK() bool { return e.Outcome == probe.OK }

// numbers is how many numbers the lists of the entry hold.
func (e *entry) numbers() int { return len(e.Arrivals) + len(e.ITL) + len(e.TokensPerFrame) }

// A history is the results of one target. The board's is guarded by its lock.
type history struct {
	target  probe.Description
	earlier []*entry // those that outlived the ring: the last failures, the slowest of a day; oldest first
	ring    []*entry // the last results, oldest first
	dropped bool     // the ring had no room for all
	numbers int      // of all entries in ring
	skipped map[string]int
	summary *atomic.Pointer[summarized] // the last one made; saves sorting the same results for every reader
}

// add keeps e, and of the others what the target's share has room for: of successes older than the ring those of
// the highest rank, the oldest first, in a quarter of it. e is not shared yet.
func (h *history) add(e *entry, s share) {
	// The frames of most answers hold the same numbers of tokens, and a list of them
	// for each would be a third of the entry.
	if last := h.last(); last != nil && slices.Equal(last.TokensPerFrame, e.TokensPerFrame) {
		e.TokensPerFrame = last.TokensPerFrame
	}
	h.ring = append(h.ring, e)
	h.numbers += e.numbers()
	for len(h.ring) > 1 && (len(h.ring) > s.results || h.numbers > s.numbers) {
		h.numbers -= h.ring[0].numbers()
		h.earlier = append(h.earlier, h.ring[0])
		h.ring = slices.Delete(h.ring, 0, 1)
		h.dropped = true
	}
	if len(h.earlier) == 0 {
		return
	}
	ranks := ranksOf(h.kept(), e.At.Add(-day))
	room := share{s.results / 4, s.numbers / 4}
	best := slices.Clone(h.earlier)
	slices.SortStableFunc(best, func(a, b *entry) int { return cmp.Compare(ranks[b], ranks[a]) })
	for _, old := range best {
		if !old.OK() {
			continue
		}
		room.results--
		room.numbers -= old.numbers()
		if room.results < 0 || room.numbers < 0 {
			delete(ranks, old)
		}
	}
	h.earlier = slices.DeleteFunc(h.earlier, func(old *entry) bool { return ranks[old] == 0 })
}

// last is the latest result; nil if there is none.
func (h *history) last() *entry {
	if len(h.ring) == 0 {
		return nil
	}
	return h.ring[len(h.ring)-1]
}

// kept is everything there is, oldest first, in a list of its own.
func (h *history) kept() []*entry { return slices.Concat(h.earlier, h.ring) }

// since is the part of the ring that was recorded at or after t.
func (h *history) since(t time.Time) []*entry {
	return h.ring[sort.Search(len(h.ring), func(i int) bool { return !h.ring[i].At.Before(t) }):]
}
