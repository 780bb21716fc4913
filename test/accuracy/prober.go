package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// newProber returns a reader that is the product, from the request to the result. Each stream has its own connection.
func newProber(j job, dialect *wire.Dialect, ask wire.Ask) (reader, error) {
	target := newTarget(j, dialect)
	// As prober run does.
	debug.SetGCPercent(35)
	stream.EnableTimestamps()
	return func(ctx context.Context) (func() seen, error) {
		r := target.Probe(ctx, ask)
		switch n := len(r.Timeline.Frames); {
		case r.Outcome != probe.OK:
			return nil, fmt.Errorf("%s: %w", r.Outcome, r.Err)
		case n != j.Tokens:
			return nil, fmt.Errorf("%d token frames, want %d", n, j.Tokens)
		}
		return func() seen { return seenBy(r) }, nil
	}, nil
}

// newTarget returns the target of a job.
func newTarget(j job, dialect *wire.Dialect) probe.Target {
	return probe.Target{
		Name: "steady", URL: j.URL, Dialect: dialect, Agent: "prober",
		Transport: probe.NewTransport(probe.Route{UserTimestamps: j.Client == userTimestamps}),
		Timeout:   j.spans() + time.Minute, Stall: time.Minute,
	}
}

// seenBy returns what the prober saw of one answer.
func seenBy(r *probe.Result) seen {
	s := seen{
		Trace: r.TraceID, Together: r.Timeline.Coalesced(), Tainted: r.Timeline.Taint != "",
		ITL: slices.Collect(r.ITL()), Joined: r.Timeline.JoinedTokens(), MaxGap: -1,
	}
	_, s.TTFT = r.TTFT()
	if gap, ok := r.MaxGap(); ok {
		s.MaxGap = gap
	}
	for _, a := range r.Timeline.Frames {
		s.Arrivals = append(s.Arrivals, r.Start.UnixNano()+int64(a.At))
		if a.Kernel {
			s.Kernel++
		}
	}
	return s
}
