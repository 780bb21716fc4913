package probe

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/testing/kerneltest"
	"github.com/llm-prober/prober/internal/wire"
)

// TestArrivalsAreThoseOfTheCompletingRead holds, through all that lies between a connection and a frame, that the
// arrival of each token frame is the moment at which its last byte was sent, of a second probe on the connection too.
func TestArrivalsAreThoseOfTheCompletingRead(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	for _, secure := range []bool{false, true} {
		for _, two := range []bool{false, true} {
			for name, answer := range map[string]paced{
				"frames":           {frames: 20},
				"byte by byte":     {frames: 3, single: true},
				"1.5 MB at first":  {frames: 5, first: 1_500_000},
				"both":             {frames: 2, first: 1_500_000, single: true},
				"just over a read": {frames: 5, first: 4096},
			} {
				inBubble(t, fmt.Sprintf("TLS %t, HTTP/2 %t, %s", secure, two, name), func(t *testing.T) {
					server := &http.Server{Handler: &answer, Protocols: new(http.Protocols)}
					server.Protocols.SetHTTP1(!two)
					server.Protocols.SetUnencryptedHTTP2(two) // TLS, if any, is in the listener
					var config *tls.Config
					if secure {
						config = certified.TLS.Clone()
						config.NextProtos = []string{"h2", "http/1.1"}
					}
					target := serveTLS(t, server, config)
					route := &target.Transport.route
					route.HTTP2, route.Reuse = two, true
					if secure {
						target.URL, route.TLS = "https://example.com", trusting(certified)
					}
					for n := range 2 {
						answer.sent = nil
						r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: answer.frames})
						if r.Outcome != OK || r.Timeline.Phases.Reused != (n > 0) || r.Timeline.Coalesced() != 0 {
							t.Fatalf("probe %d: %s: %v, reused %t, %d coalesced", n, r.Outcome, r.Err,
								r.Timeline.Phases.Reused, r.Timeline.Coalesced())
						}
						var arrived []time.Time
						for _, a := range r.Timeline.Frames {
							arrived = append(arrived, r.Start.Add(a.At))
						}
						equal(t, "arrivals", answer.sent, arrived)
					}
					if two {
						answer.sent = nil
						arrived := readLate(t, target, 10*time.Second)
						equal(t, "arrivals of what was read late", answer.sent, arrived[1:len(arrived)-2])
					}
				})
			}
		}
	}
}

// readLate asks, reads nothing of the answer for a while, in which all of it arrives, and returns the arrivals of its
// frames.
func readLate(t *testing.T, target Target, late time.Duration) (arrived []time.Time) {
	t.Helper()
	tr := &trace{start: time.Now()}
	request := must(target.probeRequest(tr.context(t.Context()), wire.Ask{Prompt: "p"}))
	resp, done, err := target.Transport.send(request)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	defer resp.Body.Close()
	time.Sleep(late)
	arrivals, size := tr.gotHeader().arrivals(resp)
	frames := stream.NewSSE(resp.Body, arrivals, size)
	for f, err := frames.Next(); err == nil; f, err = frames.Next() {
		arrived = append(arrived, f.At)
	}
	return arrived
}

// A paced server sends parts of frames a millisecond apart, and writes down when it sent the last of each token frame.
type paced struct {
	first  int // bytes of padding in the first token frame
	frames int
	single bool // frames are sent byte by byte, but for a padded one
	sent   []time.Time
}

func (p *paced) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	p.send(w, data(role))
	for n := range p.frames {
		frame := data(counted(n + 1))
		if n == 0 && p.first > 0 {
			frame = data(fmt.Sprintf(`{"padding":%q,%s`, strings.Repeat("x", p.first), counted(1)[1:]))
		}
		p.send(w, frame)
		p.sent = append(p.sent, time.Now())
	}
	p.send(w, data(limit, done))
}

func (p *paced) send(w http.ResponseWriter, frame string) {
	size := len(frame)
	if p.single && size < 4096 {
		size = 1
	}
	for part := range slices.Chunk([]byte(frame), size) {
		time.Sleep(ms)
		_, _ = w.Write(part)
		w.(http.Flusher).Flush()
	}
}

// TestTheKernelTimestamps holds that a probe on sockets has the kernel's timestamps where there are any, unless told
// not to.
func TestTheKernelTimestamps(t *testing.T) {
	awaitKernelTimestamps(t)
	server := onSockets(t, false, twoTokens.stream, nil)
	equal(t, "timestamps", ByUser, at(server.URL, Route{UserTimestamps: true}).ask(t).Timestamps)
}

// awaitKernelTimestamps asks for the kernel's timestamps until a probe has them. The first socket of a machine that
// asks for them may be served a little later.
func awaitKernelTimestamps(t *testing.T) {
	t.Helper()
	stream.EnableTimestamps()
	server := onSockets(t, false, twoTokens.stream, nil)
	for began := time.Now(); time.Since(began) < kerneltest.Patience; {
		if at(server.URL, Route{}).ask(t).Timestamps == ByKernel {
			return
		}
	}
	kerneltest.MissTimestamps(t)
}
