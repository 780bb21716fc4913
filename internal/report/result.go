package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// A ResultJSON is the JSON form of a [probe.Result]. All durations are in seconds. Absent values are null.
type ResultJSON struct {
	ResultFacts

	Arrivals []float64 `json:"arrivals_seconds"` // of each token frame, since the start

	// Uncertain says of each token frame whether it may have come earlier, because it was read late; null if none may.
	Uncertain []bool `json:"uncertain_per_frame"`

	ITL            []float64 `json:"itl_seconds"`      // of each token; see [probe.Result.ITL]
	TokensPerFrame []int     `json:"tokens_per_frame"` // null: cannot be attributed
	JoinedPerFrame []bool    `json:"joined_per_frame"` // whether a token frame is in a joined chunk; null if none is
}

// ResultFacts are what a [ResultJSON] says of the whole probe: all of it but the lists of frames and tokens.
type ResultFacts struct {
	Target string  `json:"target"`
	Group  string  `json:"group"`
	Model  *string `json:"model"` // null until known
	API    *string `json:"api"`   // null until known
	Prompt string  `json:"prompt"`

	Labels map[string]string `json:"labels,omitempty"` // of the target when it was probed; nil for none

	Outcome    probe.Outcome `json:"outcome"`
	Error      *string       `json:"error"`
	Hint       *string       `json:"hint"` // what to do about the failure; null if nothing is known
	HTTPStatus *int          `json:"http_status"`
	Reason     *probe.Reason `json:"reason"` // of a failure; null for none
	Start      time.Time     `json:"start"`

	ScheduleDelay float64  `json:"schedule_delay_seconds"`
	TTFT          *float64 `json:"ttft_seconds"`
	ServerTTFT    *float64 `json:"server_ttft_seconds"`
	TTFAT         *float64 `json:"ttfat_seconds"` // first token of the answer, after any reasoning
	TPOT          *float64 `json:"tpot_seconds"`
	E2EL          *float64 `json:"e2el_seconds"`
	MaxGap        *float64 `json:"max_gap_seconds"`
	Elapsed       float64  `json:"elapsed_seconds"` // to the end of the probe, whatever its outcome

	Phases phasesJSON `json:"phases_seconds"`
	Usage  usageJSON  `json:"usage"`

	Depths []depthJSON `json:"canary_depths,omitempty"` // of a canary whose answer was judged

	Cache        probe.CacheState       `json:"cache"`
	TokenSource  probe.Source           `json:"token_source"`
	Frames       int                    `json:"frames"` // token frames
	Coalesced    int                    `json:"coalesced_frames"`
	JoinedTokens int                    `json:"joined_tokens"`          // tokens of joined frames: their ITL is a mean
	Timestamps   *probe.TimestampSource `json:"timestamps"`             // source of arrivals; null without token frames
	Taint        *timing.Taint          `json:"taint"`                  // why there is no ITL; null if there is
	ReadDelay    *float64               `json:"read_delay_max_seconds"` // longest time that bytes lay unread, if known
	Wording      *wordingJSON           `json:"wording"`                // null if no text came, or not the whole answer
	FinishReason *string                `json:"finish_reason"`
	Round        uint64                 `json:"round"`
	TraceID      string                 `json:"trace_id"`
	ResponseID   *string                `json:"response_id"`         // the server's name of the answer, null for none
	RequestID    *string                `json:"request_id"`          // the one in the answer's header, null for none
	RetryAfter   *float64               `json:"retry_after_seconds"` // pause that the server asked for
	Warnings     []string               `json:"warnings"`

	// Notable is why the prober finds the result worth a look, among the others of its target: see status.Board.Record.
	// Nil if it does not, or where there are no others.
	Notable []string `json:"notable,omitempty"`
}

// phasesJSON are the phases of a probe, in seconds; null if there was none.
type phasesJSON struct {
	DNS     *float64 `json:"dns"`
	Connect *float64 `json:"connect"`
	TLS     *float64 `json:"tls"`
	Write   *float64 `json:"write"`
	Headers *float64 `json:"headers"`
}

// A depthJSON is whether an answer had the words that a canary hid at a depth of its prompt.
type depthJSON struct {
	Depth float64 `json:"depth"`
	Found bool    `json:"found"`
}

// usageJSON are the token counts of a server; null if it did not report one.
type usageJSON struct {
	Prompt    *int `json:"prompt"`
	Cached    *int `json:"cached"`
	Output    *int `json:"output"` // generated tokens, reasoning included
	Reasoning *int `json:"reasoning"`
}

// wordingJSON are the shares of a [probe.Wording].
type wordingJSON struct {
	Repeated float64 `json:"repeated_ratio"`
	Distinct float64 `json:"distinct_words_ratio"`
	Replaced float64 `json:"replaced_ratio"`
}

// JSONOf returns the JSON form of r, with what to do about a failure, which names settings as places do. It shares no
// memory with r.
func JSONOf(r *probe.Result, places Places) ResultJSON {
	j := ResultJSON{
		ResultFacts:    FactsOf(r, places),
		Arrivals:       slices.Grow[[]float64](nil, len(r.Timeline.Frames)),
		Uncertain:      r.Timeline.Uncertain(),
		JoinedPerFrame: r.Timeline.Joined(),
	}
	for d := range r.ITL() {
		j.ITL = append(j.ITL, d.Seconds())
	}
	for _, frame := range r.Timeline.Frames {
		j.Arrivals = append(j.Arrivals, frame.At.Seconds())
		if r.Source != probe.FromNothing {
			j.TokensPerFrame = append(j.TokensPerFrame, frame.N)
		}
	}
	return j
}

// FactsOf returns the single values of r, as [JSONOf] does, without the lists of its frames.
func FactsOf(r *probe.Result, places Places) ResultFacts {
	f := ResultFacts{
		Target: r.Target,
		Group:  r.Group,
		Model:  textOrNull(r.Model),
		API:    textOrNull(r.API),
		Prompt: r.Prompt,

		Outcome:    r.Outcome,
		Reason:     textOrNull(r.Reason),
		Hint:       textOrNull(Hint(r, places)),
		HTTPStatus: orNull(r.Status, r.Status != 0),
		Start:      r.Start,

		ScheduleDelay: r.ScheduleDelay().Seconds(),
		TTFT:          secondsOrNull(r.TTFT()),
		ServerTTFT:    secondsOrNull(r.ServerTTFT()),
		TTFAT:         secondsOrNull(r.TTFAT()),
		TPOT:          secondsOrNull(r.TPOT()),
		E2EL:          secondsOrNull(r.E2EL()),
		MaxGap:        secondsOrNull(r.MaxGap()),
		Elapsed:       r.Elapsed.Seconds(),

		Phases: phasesOf(r.Timeline.Phases),
		Usage:  usageOf(r.Usage),

		Cache:        cmp.Or(r.Cache, probe.CacheUnknown),
		TokenSource:  r.Source,
		Frames:       len(r.Timeline.Frames),
		Coalesced:    r.Timeline.Coalesced(),
		JoinedTokens: r.Timeline.JoinedTokens(),
		Timestamps:   textOrNull(r.Timestamps),
		Taint:        textOrNull(r.Timeline.Taint),
		ReadDelay:    secondsOrNull(r.Timeline.MaxReadDelay()),
		FinishReason: textOrNull(r.Finish),
		Round:        r.Round,
		TraceID:      r.TraceID,
		ResponseID:   textOrNull(r.ResponseID),
		RequestID:    textOrNull(r.RequestID),
		RetryAfter:   secondsOrNull(r.RetryAfter, r.RetryAfter > 0),
		Warnings:     make([]string, 0, len(r.Warnings)),
	}
	for _, depth := range r.Depths {
		f.Depths = append(f.Depths, depthJSON{Depth: depth.At, Found: depth.Found})
	}
	for _, w := range r.Warnings {
		f.Warnings = append(f.Warnings, Warning(w))
	}
	if r.Wording.Characters > 0 {
		f.Wording = &wordingJSON{Repeated: r.Wording.Run, Distinct: r.Wording.Distinct, Replaced: r.Wording.Replaced}
	}
	if r.Err != nil {
		f.Error = textOrNull(r.Err.Error())
	}
	return f
}

func phasesOf(p timing.Phases) phasesJSON {
	return phasesJSON{
		DNS:     secondsOrNull(p.DNS, p.DNS > 0),
		Connect: secondsOrNull(p.Connect, p.Connect > 0),
		TLS:     secondsOrNull(p.TLS, p.TLS > 0),
		Write:   secondsOrNull(p.WriteTime()),
		Headers: secondsOrNull(p.WaitTime()),
	}
}

func usageOf(u wire.Usage) usageJSON {
	return usageJSON{
		Prompt:    countOrNull(u.Prompt),
		Cached:    countOrNull(u.Cached),
		Output:    countOrNull(u.Generated()),
		Reasoning: countOrNull(u.Reasoning),
	}
}

func orNull[T any](v T, known bool) *T {
	if !known {
		return nil
	}
	return &v
}

func secondsOrNull(d time.Duration, known bool) *float64 { return orNull(d.Seconds(), known) }

func textOrNull[T ~string](text T) *T { return orNull(text, text != "") }

func countOrNull(c wire.Count) *int { return orNull(c.N, c.Known) }
