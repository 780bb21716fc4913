package status

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// What is kept of one result, whatever a server sends.
const (
	maxList = 4096 // numbers in one list; the rest is cut off
	maxText = 1000 // characters of a text that a server may have written
)

// An entry is one result as the board keeps it. It is made once and then only read, so it may be shared.
//
// The lists Arrivals, ITL and TokensPerFrame of its ResultJSON are nil: they are kept packed, and [entry.whole] returns
// them.
type entry struct {
	report.ResultJSON
	packedArrivals packedList // in nanoseconds
	packedITL      packedList // in nanoseconds; nil if itlIsGaps
	packedTokens   packedList
	itlIsGaps      bool // ITL is the same as the gaps: each frame has one token, and none came in a burst

	At time.Time // when it was recorded

	sample     report.Sample     // what it adds to statistics, without ITLs and texts
	objectives []probe.Objective // by which it was judged; shared
}

// newEntry makes an entry with bounded lists and texts. If it cuts a list, the entry has a warning that says so.
// Its hint names settings as places do.
func newEntry(r *probe.Result, places report.Places) *entry {
	result := report.JSONOf(r, places)
	bound(&result)
	e := &entry{
		ResultJSON:     result,
		packedArrivals: pack(result.Arrivals, nanoseconds),
		packedTokens:   pack(result.TokensPerFrame, func(n int) int64 { return int64(n) }),
		itlIsGaps:      slices.Equal(result.ITL, gaps(&result)),
		sample:         report.SampleOf(r, nil),
	}
	if !e.itlIsGaps {
		e.packedITL = pack(result.ITL, nanoseconds)
	}
	e.Arrivals, e.ITL, e.TokensPerFrame = nil, nil, nil
	e.sample.TokenITLs, e.sample.Warnings = nil, nil // the entry itself has these and the texts
	e.sample.Error, e.sample.Hint = "", ""
	return e
}

// bound cuts the lists and texts of a result to what is kept of them.
func bound(r *report.ResultJSON) {
	longest := max(len(r.Arrivals), len(r.ITL), len(r.TokensPerFrame))
	if longest > maxList {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"the status page keeps the first %d numbers of each list; the longest had %d", maxList, longest))
	}
	r.Arrivals = cut(r.Arrivals)
	r.Uncertain = cut(r.Uncertain)
	r.ITL = cut(r.ITL)
	r.TokensPerFrame = cut(r.TokensPerFrame)
	r.JoinedPerFrame = cut(r.JoinedPerFrame)
	for i, warning := range r.Warnings {
		r.Warnings[i] = format.Shorten(warning, maxText)
	}
	for _, text := range []*string{r.Error, r.FinishReason} {
		if text != nil {
			*text = format.Shorten(format.Clean(*text), maxText)
		}
	}
}

// cut returns the first maxList numbers of a list. It copies them if there are more, so that the rest can be freed.
func cut[T any](list []T) []T {
	if len(list) <= maxList {
		return list
	}
	return slices.Clone(list[:maxList])
}

// judge records the present time as that of e, and whether r, its result, meets each objective.
func (e *entry) judge(r *probe.Result, objectives []probe.Objective) {
	e.At = time.Now()
	e.objectives = objectives
	for _, o := range objectives {
		e.sample.Judged = append(e.sample.Judged, report.Judge(o, r))
	}
}

// OK reports whether the probe succeeded.
func (e *entry) OK() bool { return e.Outcome == probe.OK }

// whole returns the result with its lists.
func (e *entry) whole() report.ResultJSON {
	r := e.ResultJSON
	r.Arrivals = unpack(e.packedArrivals, inSeconds)
	r.TokensPerFrame = unpack(e.packedTokens, func(n int64) int { return int(n) })
	r.ITL = e.itls()
	return r
}

// itls returns the ITL of each token, in seconds.
func (e *entry) itls() []float64 {
	if !e.itlIsGaps {
		return unpack(e.packedITL, inSeconds)
	}
	return gaps(&report.ResultJSON{Arrivals: unpack(e.packedArrivals, inSeconds), Uncertain: e.Uncertain})
}

// gaps returns the known gaps between token frames, in seconds.
func gaps(r *report.ResultJSON) (list []float64) {
	for _, gap := range r.Gaps() {
		list = append(list, gap)
	}
	return list
}

// size returns how many bytes the lists of e take.
func (e *entry) size() int {
	return len(e.packedArrivals) + len(e.packedITL) + len(e.packedTokens) + len(e.Uncertain) + len(e.JoinedPerFrame)
}

// A packedList holds whole numbers as the varints of their differences: the arrivals of 100 tokens take 400 bytes.
type packedList []byte

// pack packs a list. The function toInt makes a whole number of each value.
func pack[T any](list []T, toInt func(T) int64) (packed packedList) {
	before := int64(0)
	for _, v := range list {
		n := toInt(v)
		packed = binary.AppendVarint(packed, n-before)
		before = n
	}
	return slices.Clone(packed) // without room for more
}

// unpack returns the list that was packed. The function fromInt undoes what toInt did.
func unpack[T any](packed packedList, fromInt func(int64) T) (list []T) {
	n := int64(0)
	for len(packed) > 0 {
		difference, length := binary.Varint(packed)
		packed = packed[length:]
		n += difference
		list = append(list, fromInt(n))
	}
	return list
}

// nanoseconds converts seconds.
func nanoseconds(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

// inSeconds converts nanoseconds.
func inSeconds(ns int64) float64 { return time.Duration(ns).Seconds() }
