package probe

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A ResultJSON is a [Result] as JSON has it. All durations are seconds; absent values are null.
type ResultJSON struct {
	Target string  `json:"target"`
	Group  string  `json:"group"`
	Model  *string `json:"model"` // null until known
	API    *string `json:"api"`   // null until known
	Prompt string  `json:"prompt"`

	Outcome    Outcome   `json:"outcome"`
	Error      *string   `json:"error"`
	Hint       *string   `json:"hint"` // what to do about the failure; null if nothing is known
	HTTPStatus *int      `json:"http_status"`
	Start      time.Time `json:"start"`

	ScheduleDelay float64  `json:"schedule_delay_seconds"`
	TTFT          *float64 `json:"ttft_seconds"`
	ServerTTFT    *float64 `json:"server_ttft_seconds"`
	TTFAT         *float64 `json:"ttfat_seconds"` // first token of the answer, after any reasoning
	TPOT          *float64 `json:"tpot_seconds"`
	E2EL          *float64 `json:"e2el_seconds"`
	MaxGap        *float64 `json:"max_gap_seconds"`
	Elapsed       float64  `json:"elapsed_seconds"` // to the end of the probe, whatever its outcome

	Arrivals       []float64 `json:"arrivals_seconds"`    // of each token frame, since the start
	Uncertain      []bool    `json:"uncertain_per_frame"` // whether the frame may have come earlier: it was read late; null if none may
	ITL            []float64 `json:"itl_seconds"`
	TokensPerFrame []int     `json:"tokens_per_frame"` // null: cannot be attributed
	JoinedPerFrame []bool    `json:"joined_per_frame"` // whether the frame is in a joined chunk; null if none is

	Phases struct {
		DNS     *float64 `json:"dns"`
		Connect *float64 `json:"connect"`
		TLS     *float64 `json:"tls"`
		Write   *float64 `json:"write"`
		Headers *float64 `json:"headers"`
	} `json:"phases_seconds"`
	Usage struct {
		Prompt    *int `json:"prompt"`
		Cached    *int `json:"cached"`
		Output    *int `json:"output"` // generated tokens, reasoning included
		Reasoning *int `json:"reasoning"`
	} `json:"usage"`

	Cache        CacheState `json:"cache"`
	TokenSource  Source     `json:"token_source"`
	Frames       int        `json:"frames"` // token frames
	Coalesced    int        `json:"coalesced_frames"`
	JoinedTokens int        `json:"joined_tokens"`          // tokens of joined frames: their ITL is a mean
	Stamp        *Stamping  `json:"timestamps"`             // source of the arrival timestamps; null if there was no token frame
	Taint        *Taint     `json:"taint"`                  // why the gaps are unreliable; null if they are not
	ReadDelay    *float64   `json:"read_delay_max_seconds"` // longest time that bytes lay unread; null without kernel timestamps
	FinishReason *string    `json:"finish_reason"`
	Round        uint64     `json:"round"`
	TraceID      string     `json:"trace_id"`
	RetryAfter   *float64   `json:"retry_after_seconds"` // pause that the server asked for
	Warnings     []string   `json:"warnings"`
}

// JSON returns r as JSON has it, with what to do about a failure. It shares nothing with r.
func (r *Result) JSON() ResultJSON {
	t := &r.Timeline
	a := ResultJSON{
		Target: r.Target, Group: r.Group, Model: text(r.Model), API: text(r.API), Prompt: r.Prompt,
		Outcome: r.Outcome, Hint: text(r.Hint()), HTTPStatus: optional(r.Status, r.Status != 0), Start: t.Start, Round: r.Round, TraceID: r.TraceID,
		ScheduleDelay: r.ScheduleDelay().Seconds(), Elapsed: r.Elapsed.Seconds(),
		TTFT: seconds(r.TTFT()), ServerTTFT: seconds(r.ServerTTFT()), TTFAT: seconds(r.TTFAT()),
		TPOT: seconds(r.TPOT()), E2EL: seconds(r.E2EL()), MaxGap: seconds(r.MaxGap()),
		Uncertain: t.Uncertain(),
		Frames:    len(t.Tokens), Coalesced: t.Coalesced(), JoinedTokens: t.JoinedTokens(), JoinedPerFrame: t.Joined(),
		Cache: cmp.Or(r.Cache, CacheUnknown), RetryAfter: seconds(r.RetryAfter, r.RetryAfter > 0),
		TokenSource: r.Source, Stamp: text(r.Stamp), Taint: text(r.Taint), ReadDelay: seconds(t.MaxReadDelay()),
		FinishReason: text(r.Finish), Warnings: make([]string, 0, len(r.Warnings)),
	}
	p := t.Phases
	a.Phases.DNS, a.Phases.Connect, a.Phases.TLS = seconds(p.DNS, p.DNS > 0), seconds(p.Connect, p.Connect > 0), seconds(p.TLS, p.TLS > 0)
	a.Phases.Write, a.Phases.Headers = seconds(p.Write()), seconds(p.Wait())
	a.Usage.Prompt, a.Usage.Cached = known(r.Usage.Prompt), known(r.Usage.Cached)
	a.Usage.Output, a.Usage.Reasoning = known(r.Usage.Generated()), known(r.Usage.Reasoning)
	for d := range r.ITL() {
		a.ITL = append(a.ITL, d.Seconds())
	}
	a.Arrivals = slices.Grow(a.Arrivals, len(t.Tokens))
	for _, arrival := range t.Tokens {
		a.Arrivals = append(a.Arrivals, arrival.At.Seconds())
		if r.Source != FromNothing {
			a.TokensPerFrame = append(a.TokensPerFrame, arrival.N)
		}
	}
	for _, w := range r.Warnings {
		a.Warnings = append(a.Warnings, w.Error())
	}
	if r.Err != nil {
		a.Error = text(r.Err.Error())
	}
	return a
}

// Gaps yields the times in seconds between consecutive token frames with known arrivals, and the index of the later frame.
func (a *ResultJSON) Gaps() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		known := func(i int) bool { return i >= len(a.Uncertain) || !a.Uncertain[i] }
		for i := 1; i < len(a.Arrivals); i++ {
			if known(i-1) && known(i) && !yield(i, math.Round((a.Arrivals[i]-a.Arrivals[i-1])*1e9)/1e9) {
				return
			}
		}
	}
}

func optional[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

func seconds(d time.Duration, ok bool) *float64 { return optional(d.Seconds(), ok) }
func text[T ~string](s T) *T                    { return optional(s, s != "") }
func known(c wire.Count) *int                   { return optional(c.N, c.Known) }
