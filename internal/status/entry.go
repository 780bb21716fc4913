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

// An entry is one result as the board keeps it. Once it is in a history it is only read, so it may be shared.
type entry struct {
	report.ResultFacts

	At time.Time // when it was recorded

	// The lists of the result: see [entry.ResultJSON].
	arrivals  packedList // nanoseconds
	uncertain []bool
	itl       packedList // nanoseconds; nil if itlIsGaps
	itlIsGaps bool       // the ITLs are the gaps: each frame has one token, and none came in a burst
	tokens    packedList
	joined    []bool

	sample     report.Sample      // what it adds to statistics, without the ITLs of tokens and texts
	objectives []probe.Objective  // by which it was judged; shared
	judgements []report.Judgement // one for each of them
}

// newEntry makes an entry of a target's result, with bounded lists and texts. If it cuts a list, the entry has a
// warning that says so. The caller sets At.
func newEntry(r *probe.Result, target probe.Description) *entry {
	result := report.JSONOf(r, target.Places)
	result.Labels = target.Labels
	bound(&result)
	e := &entry{
		ResultFacts: result.ResultFacts,
		arrivals:    pack(result.Arrivals, nanoseconds),
		uncertain:   result.Uncertain,
		itlIsGaps:   slices.Equal(result.ITL, gapsOf(&result)),
		tokens:      pack(result.TokensPerFrame, func(n int) int64 { return int64(n) }),
		joined:      result.JoinedPerFrame,
		sample:      report.SampleOf(r, nil),
		objectives:  target.Objectives,
	}
	if !e.itlIsGaps {
		e.itl = pack(result.ITL, nanoseconds)
	}
	// The entry itself has these.
	e.sample.TokenITLs = nil
	e.sample.Warnings = nil
	e.sample.Error = ""
	e.sample.Hint = ""
	for _, o := range target.Objectives {
		e.judgements = append(e.judgements, report.Judge(o, r))
	}
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

// OK reports whether the probe succeeded.
func (e *entry) OK() bool { return e.Outcome == probe.OK }

// ResultJSON returns the whole result.
func (e *entry) ResultJSON() *report.ResultJSON {
	r := &report.ResultJSON{
		ResultFacts:    e.ResultFacts,
		Arrivals:       unpack(e.arrivals, inSeconds),
		Uncertain:      e.uncertain,
		ITL:            unpack(e.itl, inSeconds),
		TokensPerFrame: unpack(e.tokens, func(n int64) int { return int(n) }),
		JoinedPerFrame: e.joined,
	}
	if e.itlIsGaps {
		r.ITL = gapsOf(r)
	}
	return r
}

// gapsOf returns the known gaps between token frames, in seconds; nil if there are none.
func gapsOf(r *report.ResultJSON) (list []float64) {
	for _, gap := range r.Gaps() {
		list = append(list, gap)
	}
	return list
}

// judgement returns the judgement of e by a present objective. Results are judged when they are recorded, by the
// objectives of that time. So a present objective takes the judgement of the one that had the same signal and limit and
// took refusals for the same, whatever its name and goal; without one, it does not judge e.
func (e *entry) judgement(o probe.Objective) report.Judgement {
	n := slices.IndexFunc(e.objectives, func(then probe.Objective) bool {
		return then.Signal == o.Signal && then.Limit == o.Limit && then.RefusalsAreBad == o.RefusalsAreBad
	})
	if n < 0 {
		return report.Judgement{}
	}
	return e.judgements[n]
}

// size returns how many bytes the lists of e take.
func (e *entry) size() int {
	return len(e.arrivals) + len(e.itl) + len(e.tokens) + len(e.uncertain) + len(e.joined)
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

// unpack returns the list that was packed, nil if it was empty. The function fromInt undoes what toInt did.
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

func nanoseconds(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

func inSeconds(ns int64) float64 { return time.Duration(ns).Seconds() }
