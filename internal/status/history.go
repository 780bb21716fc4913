package status

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// What is kept of each target. With answers of 100 tokens a full ring and the slowest of a day are about 1 MB;
// maxBytes bounds the lists in it, whatever a server sends.
const (
	ringSize   = 512       // last results
	failedSize = 32        // last failed results, of which the ring may have forgotten some
	window     = time.Hour // age up to which a result counts for quantiles and shares
	maxBytes   = 4 << 20   // of all lists of the ring; beyond, the oldest results go
	maxList    = 4096      // numbers in one list of one result; the rest is cut off
	maxText    = 1000      // characters of a text that a server may have written
)

// What is kept of all targets together: about 75 MB with answers of 100 tokens. 1,000 targets have 40 results each,
// which are the bars that the page shows, and 10 older ones.
const (
	allResults = 40_000
	allBytes   = 64 << 20
)

// A share is what a target may keep: results, and bytes of all their lists.
type share struct{ results, bytes int }

// shareOf returns what each of so many targets may keep.
func shareOf(targets int) share {
	return share{min(ringSize, allResults/targets), min(maxBytes, allBytes/targets)}
}

// An entry is one result as the board keeps it. It is made once and then only read, so it may be shared.
type entry struct {
	report.ResultJSON        // without Arrivals, ITL and TokensPerFrame
	arrivals          packed // in nanoseconds
	itl               packed // in nanoseconds, unless single
	tokens            packed // TokensPerFrame
	single            bool   // ITL is the gaps: one token a frame, none in bursts

	At time.Time // when it was recorded

	sample     report.Sample     // what it adds to statistics, without ITLs and texts
	objectives []probe.Objective // by which it was judged; shared
}

// newEntry makes an entry with bounded lists and texts. A warning says so where a list was cut.
func newEntry(r *probe.Result) *entry {
	a := report.JSONOf(r)
	n := max(len(a.Arrivals), len(a.ITL), len(a.TokensPerFrame))
	if n > maxList {
		a.Warnings = append(a.Warnings,
			fmt.Sprintf("the status page keeps the first %d numbers of each list; the longest had %d", maxList, n))
	}
	a.Arrivals, a.ITL = cut(a.Arrivals), cut(a.ITL)
	a.Uncertain, a.JoinedPerFrame, a.TokensPerFrame = cut(a.Uncertain), cut(a.JoinedPerFrame), cut(a.TokensPerFrame)
	for i, w := range a.Warnings {
		a.Warnings[i] = format.Shorten(w, maxText)
	}
	for _, text := range []*string{a.Error, a.FinishReason} {
		if text != nil {
			*text = format.Shorten(format.Clean(*text), maxText)
		}
	}
	e := &entry{
		ResultJSON: a, sample: report.SampleOf(r), single: slices.Equal(a.ITL, gaps(&a)),
		arrivals: pack(a.Arrivals, nanoseconds),
		tokens:   pack(a.TokensPerFrame, func(n int) int64 { return int64(n) }),
	}
	if !e.single {
		e.itl = pack(a.ITL, nanoseconds)
	}
	e.sample.ITLs, e.sample.Warnings, e.sample.Error, e.sample.Hint = nil, nil, "", "" // e has them
	e.Arrivals, e.ITL, e.TokensPerFrame = nil, nil, nil
	return e
}

// judge notes the time, which is now, and how e meets the objectives of this time.
func (e *entry) judge(r *probe.Result, objectives []probe.Objective) {
	e.At, e.objectives = time.Now(), objectives
	for _, o := range objectives {
		e.sample.Judged = append(e.sample.Judged, report.Judge(o, r))
	}
}

// whole returns the result with its lists.
func (e *entry) whole() report.ResultJSON {
	a := e.ResultJSON
	a.Arrivals = unpack(e.arrivals, inSeconds)
	a.TokensPerFrame = unpack(e.tokens, func(n int64) int { return int(n) })
	a.ITL = e.itls()
	return a
}

// itls returns the ITL of each token, in seconds.
func (e *entry) itls() []float64 {
	if !e.single {
		return unpack(e.itl, inSeconds)
	}
	a := report.ResultJSON{Arrivals: unpack(e.arrivals, inSeconds), Uncertain: e.Uncertain}
	return gaps(&a)
}

// A packed is a list of whole numbers, by their differences as varints: the arrivals of 100 tokens take 400 bytes.
type packed []byte

// pack packs a list whose numbers whole makes whole.
func pack[T any](list []T, whole func(T) int64) (p packed) {
	last := int64(0)
	for _, v := range list {
		p = binary.AppendVarint(p, whole(v)-last)
		last = whole(v)
	}
	return slices.Clone(p) // without room for more
}

// unpack returns the list that was packed; from undoes what whole did.
func unpack[T any](p packed, from func(int64) T) (list []T) {
	at := int64(0)
	for len(p) > 0 {
		more, n := binary.Varint(p)
		at, p = at+more, p[n:]
		list = append(list, from(at))
	}
	return list
}

// nanoseconds converts seconds.
func nanoseconds(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

// inSeconds converts nanoseconds.
func inSeconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// gaps returns the gaps between token frames, in seconds.
func gaps(a *report.ResultJSON) (list []float64) {
	for _, gap := range a.Gaps() {
		list = append(list, gap)
	}
	return list
}

// cut returns the first maxList numbers of a list. If there are more, they get memory of their own.
func cut[T any](list []T) []T {
	if len(list) <= maxList {
		return list
	}
	return slices.Clone(list[:maxList])
}

// OK reports whether the probe succeeded.
func (e *entry) OK() bool { return e.Outcome == probe.OK }

// size returns the bytes of the lists of e.
func (e *entry) size() int {
	return len(e.arrivals) + len(e.itl) + len(e.tokens) + len(e.Uncertain) + len(e.JoinedPerFrame)
}

// A history holds the results of one target. Those on the board are guarded by its lock.
type history struct {
	target   probe.Description
	problems usage.Problems // why the target is not probed; nil if it is
	earlier  []*entry       // those that outlived the ring: the last failures, the slowest of a day; oldest first
	ring     []*entry       // the last results, oldest first
	dropped  bool           // the ring had no room for all
	bytes    int            // of the lists of all entries in ring
	skipped  map[string]int
	cache    *atomic.Pointer[summarized] // the latest; shared by copies
}

// add keeps e, and of the others what the target's share has room for: of those older than the ring the ones of the
// highest rank, of equal ones the oldest first, in a quarter of it. e is not shared yet.
func (h *history) add(e *entry, s share) {
	h.ring = append(h.ring, e)
	h.bytes += e.size()
	for len(h.ring) > 1 && (len(h.ring) > s.results || h.bytes > s.bytes) {
		h.bytes -= h.ring[0].size()
		h.earlier = append(h.earlier, h.ring[0])
		h.ring = slices.Delete(h.ring, 0, 1)
		h.dropped = true
	}
	if len(h.earlier) == 0 {
		return
	}
	ranks := ranksOf(h.kept(), e.At.Add(-day))
	room := share{s.results / 4, s.bytes / 4}
	best := slices.Clone(h.earlier)
	slices.SortStableFunc(best, func(a, b *entry) int { return cmp.Compare(ranks[b], ranks[a]) })
	for _, old := range best {
		room.results--
		room.bytes -= old.size()
		if room.results < 0 || room.bytes < 0 {
			delete(ranks, old)
		}
	}
	h.earlier = slices.DeleteFunc(h.earlier, func(old *entry) bool { return ranks[old] == 0 })
}

// last returns the latest result; nil if there is none.
func (h *history) last() *entry {
	if len(h.ring) == 0 {
		return nil
	}
	return h.ring[len(h.ring)-1]
}

// kept returns all results in memory, the oldest first, in a list of its own.
func (h *history) kept() []*entry { return slices.Concat(h.earlier, h.ring) }

// since returns the results in the ring since t, in a list of its own.
func (h *history) since(t time.Time) []*entry {
	from := sort.Search(len(h.ring), func(i int) bool { return !h.ring[i].At.Before(t) })
	return slices.Clone(h.ring[from:])
}
