package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A bare reader is what a client costs at least, and how late one goroutine a
// stream is that does nothing but read and note the time.
type bare struct {
	address string
	request string // with %s for the trace id
	tokens  int
}

func newBare(j job, dialect *wire.Dialect, ask wire.Ask) (reader, error) {
	body, err := dialect.Body(ask)
	if err != nil {
		return nil, err
	}
	b := bare{address: strings.TrimPrefix(j.URL, "http://"), tokens: j.Tokens}
	b.request = fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nConnection: close\r\n"+
		"Traceparent: 00-%%s-b7ad6b7169203331-01\r\nContent-Length: %d\r\n\r\n", dialect.Path(ask), b.address, len(body)) +
		strings.ReplaceAll(string(body), "%", "%%")
	return b.read, nil
}

// read asks on a connection of its own, and reads until the server closes it.
func (b bare) read(ctx context.Context) (func() seen, error) {
	trace := fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()|1)
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end) // fails where the next write does
	}
	if _, err := fmt.Fprintf(conn, b.request, trace); err != nil {
		return nil, err
	}
	start := time.Now()
	at, err := arrivals(conn, start, b.tokens+3)
	if err != nil {
		return nil, err
	}
	if len(at) != b.tokens+3 { // the role before the tokens, usage and the end behind them
		return nil, fmt.Errorf("%d frames, want %d", len(at), b.tokens+3)
	}
	return func() seen { return b.seen(trace, start, at[1:b.tokens+1]) }, nil
}

const mark = "data: " // of a frame

// arrivals is the loop: when each frame came, since start. At most a mark without
// its last byte is kept from one read to the next, so that none is missed between.
func arrivals(conn io.Reader, start time.Time, frames int) ([]time.Duration, error) {
	at := make([]time.Duration, 0, frames)
	buf, kept := make([]byte, 4096), 0
	for {
		n, err := conn.Read(buf[kept:])
		now := time.Since(start)
		for range bytes.Count(buf[:kept+n], []byte(mark)) {
			at = append(at, now)
		}
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return nil, err
		}
		rest := buf[max(0, kept+n-len(mark)+1) : kept+n]
		kept = copy(buf, rest)
	}
}

func (bare) seen(trace string, start time.Time, at []time.Duration) seen {
	s := seen{Trace: trace}
	for i, d := range at {
		s.Arrivals = append(s.Arrivals, start.UnixNano()+int64(d))
		if i > 0 && d == at[i-1] {
			s.Together++
		}
	}
	return s
}
