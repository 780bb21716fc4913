package main

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// hidden dials connections that do not show their socket: no kernel can be asked
// when it received what is read of them.
func hidden(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{conn}, nil
}

// garbagePercent is what prober run sets for itself.
const garbagePercent = 50

// newProber is the product, from the request to the result: a connection a stream.
func newProber(j job, dialect wire.Dialect, ask wire.Ask, dial probe.Dial) reader {
	target := probe.Target{
		Name: "steady", URL: j.URL, Dialect: dialect, Agent: "prober", Transport: probe.NewTransport(probe.Route{Dial: dial}),
		Timeout: j.spans() + time.Minute, Stall: time.Minute,
	}
	debug.SetGCPercent(garbagePercent)
	return func(ctx context.Context) (func() seen, error) {
		r := target.Probe(ctx, ask)
		switch n := len(r.Timeline.Tokens); {
		case r.Outcome != probe.OK:
			return nil, fmt.Errorf("%s: %w", r.Outcome, r.Err)
		case n != j.Tokens:
			return nil, fmt.Errorf("%w: %d frames, want %d", errShort, n, j.Tokens)
		}
		return func() seen { return seenBy(r) }, nil
	}
}

func seenBy(r *probe.Result) seen {
	s := seen{Trace: r.TraceID, Together: r.Timeline.Coalesced(), Tainted: r.Taint != ""}
	for _, a := range r.Timeline.Tokens {
		s.Arrivals = append(s.Arrivals, r.Timeline.Start.UnixNano()+int64(a.At))
		if a.Kernel {
			s.Kernel++
		}
	}
	return s
}
