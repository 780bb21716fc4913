package probe

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/wire"
)

// simulated returns a target that asks a simulated server, and that server.
func simulated(tb testing.TB, serve func(http.Handler) (url string, transport *Transport)) (Target, *sim.Server) {
	tb.Helper()
	profile, err := sim.ParseProfile("fast")
	if err != nil {
		tb.Fatal(err)
	}
	server := sim.New(sim.Config{Profile: profile, Seed: 1})
	tb.Cleanup(server.Close)
	target := newTarget(nil)
	target.URL, target.Transport = serve(server)
	return target, server
}

// TestTruth holds every arrival against what the server wrote down when it sent
// the frame: in virtual time they are the same.
func TestTruth(t *testing.T) {
	inBubble(t, "truth", func(t *testing.T) {
		target, server := simulated(t, func(h http.Handler) (string, *Transport) {
			return "http://t", serve(t, h.ServeHTTP).Transport
		})
		r := target.Probe(t.Context(), wire.Ask{Model: "meta-llama/Llama-3.1-8B-Instruct", Prompt: "Words: time", MaxTokens: 200})
		if r.Outcome != OK {
			t.Fatal(r.Outcome, r.Err)
		}
		sent := server.Sent()[0]
		if len(sent.Frames) != 200 || len(r.Timeline.Tokens) != 200 {
			t.Fatalf("%d frames sent, %d arrived", len(sent.Frames), len(r.Timeline.Tokens))
		}
		for i, frame := range sent.Frames {
			if arrived := r.Timeline.Start.Add(r.Timeline.Tokens[i].At); !arrived.Equal(frame.At) || r.Timeline.Tokens[i].N != frame.Tokens {
				t.Errorf("frame %d: sent at %v with %d tokens, arrived at %v with %d", i, frame.At, frame.Tokens, arrived, r.Timeline.Tokens[i].N)
			}
		}
	})
}

// BenchmarkTruthOnLoopback measures, on real sockets, how long after the server
// began to write a frame its arrival was stamped: the error of every number.
func BenchmarkTruthOnLoopback(b *testing.B) {
	target, server := simulated(b, func(h http.Handler) (string, *Transport) {
		s := httptest.NewServer(h)
		b.Cleanup(s.Close)
		return s.URL, NewTransport(Route{})
	})
	var late []time.Duration
	for b.Loop() {
		r := target.Probe(b.Context(), wire.Ask{Model: "meta-llama/Llama-3.1-8B-Instruct", Prompt: "Words: time", MaxTokens: 100})
		if r.Outcome != OK {
			b.Fatal(r.Outcome, r.Err)
		}
		sent := server.Sent()
		for i, frame := range sent[len(sent)-1].Frames {
			late = append(late, r.Timeline.Start.Add(r.Timeline.Tokens[i].At).Sub(frame.At))
		}
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds()), "p50-µs-late")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds()), "p99-µs-late")
}
