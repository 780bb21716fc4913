package probe

import (
	"cmp"
	"iter"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// An Account is a [Result] as its JSON tells it, to `prober once` and on
// /api/v1/results alike. All durations are seconds; what is absent is null.
type Account struct {
	Target string  `json:"target"`
	Group  string  `json:"group"`
	Model  *string `json:"model"` // null until it is known
	API    *string `json:"api"`   // null until it is known
	Prompt string  `json:"prompt"`

	Outcome    Outcome   `json:"outcome"`
	Error      *string   `json:"error"`
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

	ChunkGaps      []float64 `json:"chunk_gaps_seconds"`
	ITL            []float64 `json:"itl_seconds"`
	TokensPerFrame []int     `json:"tokens_per_frame"` // null: cannot be attributed
	JoinedPerFrame []bool    `json:"joined_per_frame"` // whether the frame's own arrival, or that of one read with it, is unknown; null if all are known

	Phases AccountPhases `json:"phases_seconds"`
	Usage  AccountUsage  `json:"usage"`

	Cache        CacheState `json:"cache"`
	TokenSource  Source     `json:"token_source"`
	Frames       int        `json:"frames"` // token frames
	Coalesced    int        `json:"coalesced_frames"`
	JoinedTokens int        `json:"joined_tokens"`          // tokens of joined frames: their ITL is a mean
	Stamp        *Stamping  `json:"stamp"`                  // who stamped the token frames; null if there was none
	Taint        *Taint     `json:"taint"`                  // why there is no ITL; null if nothing forbids it
	ReadDelay    *float64   `json:"read_delay_max_seconds"` // longest that bytes lay unread; null if the kernel stamped none
	FinishReason *string    `json:"finish_reason"`
	Round        uint64     `json:"round"`
	TraceID      string     `json:"trace_id"`
	RetryAfter   *float64   `json:"retry_after_seconds"` // that the server asked for
	Warnings     []string   `json:"warnings"`

	// Unspoilt is [Result.Unspoilt], for whoever makes statistics of accounts.
	Unspoilt bool `json:"-"`

	// FirstToken and LastToken are the arrivals of the first and the last token frame, for whoever
	// draws accounts: TTFT and E2EL may be missing. 0 if there was none.
	FirstToken, LastToken float64 `json:"-"`

	// Breaks are the times without known arrivals among the chunk gaps, for whoever draws them.
	Breaks []Break `json:"-"`
}

// A Break is a time in which arrivals of token frames are not known.
type Break struct {
	Before int     // index of the chunk gap that follows it
	Length float64 // seconds
}

// AccountPhases are the lengths of a request's phases, in seconds.
type AccountPhases struct {
	DNS     *float64 `json:"dns"`
	Connect *float64 `json:"connect"`
	TLS     *float64 `json:"tls"`
	Write   *float64 `json:"write"`
	Headers *float64 `json:"headers"`
}

// AccountUsage is the server's token counts.
type AccountUsage struct {
	Prompt    *int `json:"prompt"`
	Cached    *int `json:"cached"`
	Output    *int `json:"output"` // generated tokens, reasoning included
	Reasoning *int `json:"reasoning"`
}

// Account tells r as JSON does. The account shares nothing with r.
func (r *Result) Account() Account {
	a := Account{
		Target: r.Target, Group: r.Group, Model: text(r.Model), API: text(r.API), Prompt: r.Prompt,
		Outcome: r.Outcome, Start: r.Timeline.Start, Round: r.Round, TraceID: r.TraceID,
		ScheduleDelay:  r.ScheduleDelay().Seconds(),
		TTFT:           seconds(r.TTFT()),
		ServerTTFT:     seconds(r.ServerTTFT()),
		TTFAT:          seconds(r.TTFAT()),
		TPOT:           seconds(r.TPOT()),
		E2EL:           seconds(r.E2EL()),
		MaxGap:         seconds(r.MaxGap()),
		Elapsed:        r.Elapsed.Seconds(),
		ChunkGaps:      allSeconds(r.ChunkGaps(), len(r.Timeline.Tokens)),
		ITL:            allSeconds(r.ITL(), len(r.Timeline.Tokens)),
		JoinedPerFrame: r.Timeline.Joined(),
		Phases:         r.Timeline.Phases.account(),
		Usage:          accountUsage(r.Usage),
		Cache:          cmp.Or(r.Cache, CacheUnknown),
		Unspoilt:       r.Unspoilt(),
		RetryAfter:     seconds(r.RetryAfter, r.RetryAfter > 0),
		TokenSource:    r.Source,
		Frames:         len(r.Timeline.Tokens),
		Coalesced:      r.Timeline.Coalesced(),
		JoinedTokens:   r.Timeline.JoinedTokens(),
		Stamp:          text(r.Stamp),
		Taint:          text(r.Taint),
		ReadDelay:      seconds(r.Timeline.MaxReadDelay()),
		FinishReason:   text(r.Finish),
		Warnings:       make([]string, 0, len(r.Warnings)),
	}
	if n := len(r.Timeline.Tokens); n > 0 {
		a.FirstToken, a.LastToken = r.Timeline.Tokens[0].At.Seconds(), r.Timeline.Tokens[n-1].At.Seconds()
	}
	a.Breaks = r.Timeline.breaks()
	for i := range r.Timeline.Tokens {
		if r.Source != FromNobody {
			a.TokensPerFrame = append(a.TokensPerFrame, r.Timeline.tokensOf(i))
		}
	}
	for _, w := range r.Warnings {
		a.Warnings = append(a.Warnings, w.Error())
	}
	if r.Err != nil {
		a.Error = text(r.Err.Error())
	}
	if r.Status != 0 {
		a.HTTPStatus = new(r.Status)
	}
	return a
}

func (t *Timeline) breaks() []Break {
	var list []Break
	gaps, from := 0, time.Duration(0)
	for i, s := range t.Spans() {
		if from = cmp.Or(from, t.Tokens[0].At); s.Gap {
			gaps++
		} else {
			list = append(list, Break{gaps, (t.Tokens[i].At - from).Seconds()})
		}
		from = t.Tokens[i].At
	}
	return list
}

func (p Phases) account() AccountPhases {
	write, wrote := p.Write()
	wait, answered := p.Wait()
	return AccountPhases{
		DNS:     seconds(p.DNS, p.DNS > 0),
		Connect: seconds(p.Connect, p.Connect > 0),
		TLS:     seconds(p.TLS, p.TLS > 0),
		Write:   seconds(write, wrote),
		Headers: seconds(wait, answered),
	}
}

func accountUsage(u wire.Usage) AccountUsage {
	return AccountUsage{
		Prompt: known(u.Prompt), Cached: known(u.Cached),
		Output: known(u.Generated()), Reasoning: known(u.Reasoning),
	}
}

func seconds(d time.Duration, ok bool) *float64 {
	if !ok {
		return nil
	}
	return new(d.Seconds())
}

// text is s, or nothing if it is empty.
func text[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

func known(c wire.Count) *int {
	if !c.Known {
		return nil
	}
	return new(c.N)
}

// allSeconds is nil if there are none. Usual is how many there mostly are.
func allSeconds(all iter.Seq[time.Duration], usual int) []float64 {
	var list []float64
	for d := range all {
		if list == nil {
			list = make([]float64, 0, usual)
		}
		list = append(list, d.Seconds())
	}
	return list
}
