package telemetry

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// day returns when the fixed results are from.
func day() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// fixedTarget has an objective of each shape, and labels that few recorders show.
func fixedTarget() probe.Description {
	return probe.Description{
		Name: "a", Model: "llama", Prompt: "cold", Group: "g", Workload: "w", API: "openai-chat",
		URL:      "https://user:secret@llm.example:8443/v1?key=secret",
		Interval: 10 * time.Second, StallLimit: 30 * time.Second,
		Labels: map[string]string{"team": `a,"b"`, "region": "eu"},
		Objectives: []probe.Objective{
			{Name: "up", Signal: probe.SignalAvailability, Goal: 0.99},
			{Name: "fast", Signal: probe.SignalTTFT, Limit: time.Second, Goal: 0.95},
		},
		Depths:   []float64{0.1, 0.95},
		InFlight: func() (int, time.Time) { return 0, time.Time{} },
		Stuck:    func() int { return 0 },
	}
}

// succeeded5 returns a result with five tokens in four frames, the last two of one read, 600 ms
// to the first and gaps of 20, 40 and 0 ms. The reads have kernel timestamps and were
// delayed by 20 µs, 1 ms and 40 µs.
func succeeded5() *probe.Result {
	return &probe.Result{
		Target: "a", Group: "g", Model: "llama", API: "openai-chat", Prompt: "cold",
		Due: day().Add(-ms(2)), Start: day(), Round: 7,
		Timeline: timing.Timeline{
			Phases: timing.Phases{
				DNS: ms(1), Connect: ms(2), TLS: ms(5), Wrote: ms(10), Header: ms(90),
			},
			Frames: []timing.Frame{
				{At: ms(600), Read: 4, N: 1, Kernel: true, Delay: ms(.02)},
				{At: ms(620), Read: 5, N: 1, Kernel: true, Delay: ms(1)},
				{At: ms(660), Read: 6, N: 2, Kernel: true, Delay: ms(.04)},
				{At: ms(660), Read: 6, N: 1, Kernel: true, Delay: ms(.04)},
			},
			FirstAnswerAt: ms(620),
			FinishedAt:    ms(665),
		},
		Elapsed: ms(700), Outcome: probe.OK, Status: 200, Finish: "length",
		Usage: wire.Usage{
			Prompt: wire.Tokens(100), Cached: wire.Tokens(16), Output: wire.Tokens(5), Total: wire.Tokens(105),
		},
		Wording: probe.Wording{Characters: 40, Run: 0.25, Distinct: 0.75, Replaced: 0.125},
		Depths:  []probe.Depth{{At: 0.1, Found: true}, {At: 0.95}},
		Source:  probe.FromUsage, Timestamps: probe.ByKernel, CertExpiry: day().AddDate(0, 2, 0),
		TraceID: "0102030405060708090a0b0c0d0e0f10", SpanID: "1112131415161718",
		ResponseID: "chatcmpl-1", RequestID: "req-1",
	}
}

func with(r *probe.Result, change func(*probe.Result)) *probe.Result {
	change(r)
	return r
}

// stalled returns a probe that died 30 s after its second token.
func stalled() *probe.Result {
	r := succeeded5()
	r.Start = day().Add(10 * time.Second)
	r.Due = r.Start
	r.Timeline.Frames = r.Timeline.Frames[:2]
	r.Timeline.FinishedAt, r.Timeline.Open = 0, 30*time.Second
	r.Elapsed, r.Outcome, r.Reason = ms(30620), probe.Stalled, probe.ReasonStreamStalled
	r.Err = errors.New("no token for 30s")
	r.Wording, r.Depths = probe.Wording{}, nil
	r.Finish, r.Usage = "", wire.Usage{Prompt: wire.Tokens(100)}
	r.TraceID, r.SpanID = "aa02030405060708090a0b0c0d0e0f10", "aa12131415161718"
	return r
}

// refused returns a probe that never connected.
func refused() *probe.Result {
	r := stalled()
	r.Timeline = timing.Timeline{}
	r.Start = day().Add(20 * time.Second)
	r.Due = r.Start
	r.Elapsed, r.Outcome, r.Reason = ms(3), probe.Connect, probe.ReasonConnectionFailed
	r.Err = errors.New("connection refused")
	r.Usage, r.Status, r.CertExpiry = wire.Usage{}, 0, time.Time{}
	r.Timestamps = ""
	r.TraceID = "bb02030405060708090a0b0c0d0e0f10"
	return r
}

// readLate returns a success of which the prober knows little: its answer begins with reasoning, all its frames were
// read late together, and the kernel's timestamps were not believed.
func readLate() *probe.Result {
	r := succeeded5()
	r.Start = day().Add(30 * time.Second)
	r.Due = r.Start
	r.ReasoningShown = true
	r.Usage.Reasoning = wire.Tokens(2)
	for n := range r.Timeline.Frames {
		r.Timeline.Frames[n].Delay = ms(60)
	}
	r.Timeline.Taint = timing.TaintLate
	r.RejectedTimestamps = 3
	r.TraceID = "cc02030405060708090a0b0c0d0e0f10"
	return r
}

// everything records something for each metric of the catalog. The golden files show what becomes of it.
func everything(r *Recorder) {
	r.Reloaded(day(), true)
	r.SetRejectedTargets([]probe.Description{{Name: "no key"}, {Name: "no name"}})
	r.Add(ExportFailures, 1)
	r.Add(LookupFailures, 2)
	r.Add(SourceFailures, 4)
	r.SetListed(5, 6)
	r.Add(InternalErrors, 3)
	target := fixedTarget()
	target.InFlight = func() (int, time.Time) { return 2, time.Now().Add(-3 * time.Second) }
	target.Stuck = func() int { return 1 }
	r.Set(target)
	r.Record(succeeded5())
	r.Record(stalled())
	r.Record(refused())
	r.Record(readLate())
	r.Skipped("a", "cold", probe.SkipOverlap)
}

// random returns n results of two targets, with all outcomes and with gaps from nothing to seconds.
func random(n int) []*probe.Result {
	rnd := rand.New(rand.NewPCG(1, 2))
	outcomes := append(probe.Outcomes(), probe.Canceled)
	taints := timing.Taints()
	var all []*probe.Result
	for i := range n {
		r := succeeded5()
		r.Target = []string{"a", "b"}[i%2]
		r.Start = day().Add(time.Duration(i) * time.Second)
		r.Due = r.Start.Add(-ms(rnd.ExpFloat64()))
		r.Timeline.Frames = randomTokens(rnd)
		r.Usage = wire.Usage{Prompt: wire.Tokens(rnd.IntN(100000))}
		if rnd.IntN(4) > 0 {
			r.Usage.Output = wire.Tokens(rnd.IntN(200))
		}
		r.Elapsed = r.Timeline.Frames[len(r.Timeline.Frames)-1].At + ms(rnd.Float64())
		if rnd.IntN(5) == 0 {
			r.Outcome = outcomes[rnd.IntN(len(outcomes))]
			r.Timeline.Open = ms(1000 * rnd.ExpFloat64())
		}
		if rnd.IntN(10) == 0 {
			r.Timeline.Taint = taints[rnd.IntN(len(taints))]
			r.RejectedTimestamps = rnd.IntN(3)
		}
		r.TraceID = fmt.Sprintf("%032x", i+1)
		all = append(all, r)
	}
	return all
}

// randomTokens returns up to 60 token frames, two in each read. Every frame has one token, or any number.
func randomTokens(rnd *rand.Rand) (tokens []timing.Frame) {
	at := ms(100 + 400*rnd.ExpFloat64())
	most := 1 + 7*rnd.IntN(2)
	for i := range 1 + rnd.IntN(60) {
		a := timing.Frame{At: at, Read: uint32(i / 2), N: 1 + rnd.IntN(most), Kernel: rnd.IntN(10) > 0}
		if a.Kernel {
			a.Delay = ms(.02 * math.Exp(rnd.NormFloat64()))
		}
		tokens = append(tokens, a)
		if rnd.IntN(10) == 0 {
			at += ms(.13 * rnd.Float64()) // a gap around the zero threshold
		} else {
			at += ms(18 * math.Exp(rnd.NormFloat64()/2))
		}
	}
	return tokens
}
