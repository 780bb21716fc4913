package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// newBare returns a reader that does nothing but read and note the time, with a goroutine for each stream. It measures
// what a client costs at least, and how late it is at least. Each answer has its own connection, which the server
// closes.
func newBare(j job, dialect *wire.Dialect, ask wire.Ask) (reader, error) {
	body, err := dialect.Body(ask)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (func() seen, error) {
		trace := fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()|1)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, j.URL+dialect.Path(ask), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", request.URL.Host)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		if end, ok := ctx.Deadline(); ok {
			_ = conn.SetDeadline(end) // fails where the next write does
		}
		if err := request.Write(conn); err != nil {
			return nil, err
		}
		start, frames := time.Now(), j.Tokens+3 // the role before the tokens, usage and the end behind them
		at, err := arrivals(conn, start, frames)
		if err == nil && len(at) != frames {
			err = fmt.Errorf("%d frames, want %d", len(at), frames)
		}
		return func() seen { return bareSeen(trace, start, at[1:frames-2]) }, err
	}, nil
}

// arrivals reads an answer to its end. It returns when each frame came, since start. A frame has one closing bracket,
// that of its choices or of [DONE].
func arrivals(conn io.Reader, start time.Time, frames int) ([]time.Duration, error) {
	at := make([]time.Duration, 0, frames)
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		now := time.Since(start)
		for range bytes.Count(buf[:n], []byte("]")) {
			at = append(at, now)
		}
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// bareSeen returns what was seen of one answer, from the arrivals of its token frames.
func bareSeen(trace string, start time.Time, at []time.Duration) seen {
	s := seen{Trace: trace}
	for i, d := range at {
		s.Arrivals = append(s.Arrivals, start.UnixNano()+int64(d))
		if i > 0 && d == at[i-1] {
			s.Together++
		}
	}
	return s
}
