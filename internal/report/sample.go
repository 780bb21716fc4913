package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// A Request is what one request that succeeded adds to a comparison: NaN where there is nothing that may be compared.
type Request struct {
	Round uint64 `json:"round"` // requests of equal Round answered the same prompt
	TTFT  Number `json:"ttft_seconds"`
	TPOT  Number `json:"tpot_seconds"`
	ITL   Number `json:"itl_seconds"` // median of its tokens'
	E2EL  Number `json:"e2el_seconds"`
}

// A Sample is what one request adds to tables and plots: a result without its timeline.
type Sample struct {
	Request

	Target  string
	Start   time.Time     // monotonic
	Elapsed time.Duration // to the end of the request, whatever it was
	Late    time.Duration // how late it started

	Outcome      probe.Outcome
	Prompt       wire.Count      // tokens
	Output       wire.Count      // tokens
	Contaminated bool            // a cache knew the prompt that should be cold: it has no TTFT
	Tainted      bool            // the prober read nearly all of it late: it has no ITL
	ByUser       bool            // the prober took the arrivals' time itself: the kernel gave none
	Hidden       bool            // its first tokens are reasoning that no frame showed: it has no TTFT
	Frames       int             // token frames
	Bursts       int             // token frames that arrived in a burst with the one before, read on time
	Joined       int             // tokens whose ITL is the mean over frames that were read late and together
	ITLs         []float64       // seconds, once a token; nil if there is none, and once a [Step] has them
	Warnings     []probe.Warning // of the result, but for those that the fields above tell

	Judged []Judgement // by the objectives, in their order

	Error, Hint string // of a request that failed: what is known of it, and what to do

	Timed int // tokens with an ITL; set by [Step.Add]
}

// SampleOf keeps of r what a [Sample] has. The rules are those of the metrics: a request that failed has no latency,
// TTFT is only that of a token that was seen and of a prompt that was as cold as meant, and ITL only that of gaps that
// are not our own. Objectives are what r is judged by.
func SampleOf(r *probe.Result, objectives ...probe.Objective) Sample {
	s := Sample{
		Request: Request{Round: r.Round, TTFT: none, TPOT: none, ITL: none, E2EL: none},
		Target:  r.Target, Start: r.Start, Elapsed: r.Elapsed, Late: r.ScheduleDelay(),
		Outcome: r.Outcome, Prompt: r.Usage.Prompt, Output: r.Usage.Generated(),
		Contaminated: r.Cache == probe.CacheContaminated, Tainted: r.Taint != "", ByUser: r.Stamp == probe.ByUser, Hidden: r.Hidden,
		Frames: len(r.Tokens), Bursts: r.Bursts(), Joined: r.JoinedTokens(),
	}
	for _, o := range objectives {
		s.Judged = append(s.Judged, Judge(o, r))
	}
	for _, w := range r.Warnings {
		if warning, ok := errors.AsType[probe.Warning](w); ok && !warning.Derived {
			s.Warnings = append(s.Warnings, warning)
		}
	}
	if r.Outcome != probe.OK {
		if s.Hint = r.Hint(); r.Err != nil {
			s.Error = r.Err.Error()
		}
		return s
	}
	if r.TTFTValid() {
		s.TTFT = secondsOf(r.TTFT())
	}
	s.TPOT, s.E2EL = secondsOf(r.TPOT()), secondsOf(r.E2EL())
	for gap := range r.ITL() {
		s.ITLs = append(s.ITLs, gap.Seconds())
	}
	if s.ITLs != nil {
		s.ITL = Number(median(s.ITLs))
	}
	return s
}

func secondsOf(d time.Duration, ok bool) Number {
	if !ok {
		return none
	}
	return Number(d.Seconds())
}

// A quantity is one of those that are summed up and compared.
type quantity struct {
	name, title string
	of          func(*Request) *Number
	in          func(*Summary) *Distribution
}

var quantities = [quantityCount]quantity{
	{"TTFT", "Time to First Token", func(r *Request) *Number { return &r.TTFT }, func(s *Summary) *Distribution { return &s.TTFT }},
	{"TPOT", "Time per Output Token (excl. 1st token)", func(r *Request) *Number { return &r.TPOT }, func(s *Summary) *Distribution { return &s.TPOT }},
	indexITL: {nameITL, "Inter-token Latency",
		func(r *Request) *Number { return &r.ITL }, func(s *Summary) *Distribution { return &s.ITL }},
	{"E2EL", "End-to-end Latency", func(r *Request) *Number { return &r.E2EL }, func(s *Summary) *Distribution { return &s.E2EL }},
}

// ITL is the one quantity of tokens; the others are of requests.
const (
	quantityCount = 4
	indexITL      = 2
	nameITL       = "ITL"
)

// values are the known ones of all samples, one a request.
func (q quantity) values(samples []Sample) (values []float64) {
	for _, s := range samples {
		if v := float64(*q.of(&s.Request)); finite(v) {
			values = append(values, v)
		}
	}
	return values
}

// requestsOf are the requests of one target that succeeded, by round and start: without ITL where frames come in bursts, which
// make it a mean, and without E2EL where a cache knew the prompt, which makes it shorter.
func requestsOf(samples []Sample) (list []Request) {
	good, _ := split(samples, succeeded)
	_, _, batched := bursts(good)
	order := make([]int, len(good)) // smaller than samples, which are not moved
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := &good[i], &good[j]
		return cmp.Or(cmp.Compare(x.Round, y.Round), x.Start.Compare(y.Start))
	})
	list = make([]Request, 0, len(good))
	for _, i := range order {
		r := good[i].Request
		if batched {
			r.ITL = none
		}
		if good[i].Contaminated {
			r.E2EL = none
		}
		list = append(list, r)
	}
	return list
}

// PairUp pairs the samples of A and B that answered the same prompt, where both succeeded, in the order of their starts.
func PairUp(a, b []Sample) []Pairs { return pairsOf(rounds(requestsOf(a), requestsOf(b))) }

func pairsOf(both [][2]Request) []Pairs {
	var list []Pairs
	for _, q := range quantities {
		p := Pairs{Metric: q.name}
		for _, pair := range both {
			p.Values = append(p.Values, [2]float64{float64(*q.of(&pair[0])), float64(*q.of(&pair[1]))})
		}
		list = append(list, p)
	}
	return list
}

func rounds(a, b []Request) (list [][2]Request) {
	others := map[uint64][]Request{}
	for _, r := range b {
		others[r.Round] = append(others[r.Round], r)
	}
	for _, r := range a {
		if left := others[r.Round]; len(left) > 0 {
			list = append(list, [2]Request{r, left[0]})
			others[r.Round] = left[1:]
		}
	}
	return list
}

func notCanceled(s Sample) bool { return s.Outcome != probe.Canceled }

func succeeded(s Sample) bool { return s.Outcome == probe.OK }

// split parts samples. Both parts are only to be read: where all are, that part is the list itself.
func split(samples []Sample, is func(Sample) bool) (are, not []Sample) {
	if number(samples, is) == len(samples) {
		return slices.Clip(samples), nil
	}
	for _, s := range samples {
		if is(s) {
			are = append(are, s)
		} else {
			not = append(not, s)
		}
	}
	return are, not
}

// RequestLine returns one request in one line without its end, up to 80 columns if it succeeded.
func RequestLine(s Sample) string {
	const names = 16 // columns
	head := fmt.Sprintf("%5s %-*s %-2s", fmt.Sprintf("#%d", s.Round), names, format.Shorten(format.Clean(s.Target), names), s.Outcome)
	if s.Outcome != probe.OK {
		return strings.TrimSuffix(fmt.Sprintf("%s after %s: %s", head, format.Duration(s.Elapsed), format.Shorten(format.Clean(s.Error), 80)), ": ")
	}
	return strings.TrimRight(fmt.Sprintf("%s  TTFT %-7s  TPOT %-7s  ITL %-7s  E2EL %-7s", head,
		secondsOrNone(s.TTFT), secondsOrNone(s.TPOT), secondsOrNone(s.ITL), secondsOrNone(s.E2EL)), " ")
}
