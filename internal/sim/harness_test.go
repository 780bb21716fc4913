package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/memconn"
)

// rig is a simulated server behind net/http on an in-memory network, with a client.
type rig struct {
	sim    *Server
	client *http.Client
}

// bubble runs a test against a server in virtual time. It ends only when no goroutine is left.
func bubble(t *testing.T, c Config, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := memconn.Listen(1 << 16)
		r := &rig{sim: New(c)}
		server := &http.Server{Handler: r.sim}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(listener) })
		transport := &http.Transport{
			DialContext:        listener.Dial,
			DisableCompression: true, DisableKeepAlives: true,
		}
		r.client = &http.Client{Transport: transport}
		test(t, r)
		transport.CloseIdleConnections()
		r.sim.Close()
		_ = server.Close()
		serving.Wait()
		time.Sleep(time.Second) // net/http lingers half a second on a connection whose request body it did not take
	})
}

// line is one non-empty line of a body and when it came.
type line struct {
	text string
	at   time.Duration // from the request's start
}

// heard is what a client saw of a response.
type heard struct {
	status  int
	header  http.Header
	headers time.Duration // when they came
	lines   []line
	ended   time.Duration
	err     error // how the body ended, nil for a clean end
}

// text is the body, blank lines left out.
func (h heard) text() string {
	var b strings.Builder
	for _, l := range h.lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// times are when the lines came.
func (h heard) times() []time.Duration {
	var at []time.Duration
	for _, l := range h.lines {
		at = append(at, l.at)
	}
	return at
}

// do sends a request and hears it out.
func (r *rig) do(ctx context.Context, t *testing.T, method, path, body string, header ...string) heard {
	t.Helper()
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, method, "http://sim"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return heard{err: err, ended: time.Since(start)}
	}
	defer resp.Body.Close()
	h := heard{status: resp.StatusCode, header: resp.Header, headers: time.Since(start)}
	in := bufio.NewReader(resp.Body)
	for {
		text, err := in.ReadString('\n')
		if text = strings.TrimSuffix(text, "\n"); text != "" {
			h.lines = append(h.lines, line{text, time.Since(start)})
		}
		if err != nil {
			h.ended = time.Since(start)
			if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				h.err = err
			}
			return h
		}
	}
}

func (r *rig) post(t *testing.T, path, body string, header ...string) heard {
	t.Helper()
	return r.do(t.Context(), t, http.MethodPost, path, body, header...)
}

// inject sets a fault in flag syntax.
func (r *rig) inject(t *testing.T, fault string) {
	t.Helper()
	f, err := ParseFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.sim.SetFault(f); err != nil {
		t.Fatal(err)
	}
}

// last is the truth about the last answer.
func (r *rig) last(t *testing.T) Sent {
	t.Helper()
	sent := r.sim.Sent()
	if len(sent) == 0 {
		t.Fatal("no answer was written down")
	}
	return sent[len(sent)-1]
}

// profile finds a profile that exists.
func profile(t *testing.T, name string) Profile {
	t.Helper()
	p, err := ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// millis are durations of so many milliseconds.
func millis(of ...float64) []time.Duration {
	out := make([]time.Duration, 0, len(of))
	for _, v := range of {
		out = append(out, time.Duration(v*float64(time.Millisecond)))
	}
	return out
}

// Requests that most tests send.
const (
	chatFour = `{"messages":[{"role":"user","content":"count, do not stop"}],"max_tokens":4,"ignore_eos":true,
		"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`
	completionFour = `{"prompt":"1 2","max_tokens":4,"ignore_eos":true,
		"stream":true,"stream_options":{"include_usage":true}}`
	tgiFour = `{"inputs":"count, do not stop","parameters":{"max_new_tokens":4,"details":true}}`
)

// words is a text of so many tokens.
func words(n int) string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, fmt.Sprint(i+1))
	}
	return strings.Join(out, " ")
}
