package probe

import (
	"testing"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/wire"
)

// TestTruth holds every arrival against what the server wrote down when it sent the frame: in virtual time they are
// the same.
func TestTruth(t *testing.T) {
	inBubble(t, "truth", func(t *testing.T) {
		profile := must(sim.ParseProfile("fast"))
		server := sim.New(sim.Config{Profile: profile, Seed: 1})
		t.Cleanup(server.Close)
		target := serve(t, server.ServeHTTP)
		r := target.Probe(t.Context(), wire.Ask{Model: "meta-llama/Llama-3.1-8B-Instruct", Prompt: "Words: time", MaxTokens: 200})
		if r.Outcome != OK {
			t.Fatal(r.Outcome, r.Err)
		}
		sent := server.Sent()[0]
		if len(sent.Frames) != 200 || len(r.Tokens) != 200 {
			t.Fatalf("%d frames sent, %d arrived", len(sent.Frames), len(r.Tokens))
		}
		for i, frame := range sent.Frames {
			if arrived := r.Start.Add(r.Timeline.Tokens[i].At); !arrived.Equal(frame.At) || r.Timeline.Tokens[i].N != frame.Tokens {
				t.Errorf("frame %d: sent at %v with %d tokens, arrived at %v with %d", i, frame.At, frame.Tokens, arrived, r.Timeline.Tokens[i].N)
			}
		}
	})
}
