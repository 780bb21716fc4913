package sim

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPromptsShareTheEngine holds when each token of prompts that come together is made, step by step. A prompt joins
// the queue after 90 ms and has 15 tokens, each of which takes 1 ms; a step has room for 10 tokens and two prompts.
func TestPromptsShareTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		e := newEngine(Profile{
			TTFT: 100 * time.Millisecond, PromptTokens: 10, PrefillRate: 1000, TPOT: 10 * time.Millisecond,
			MaxBatch: 2, StepTokens: 10, StepPerSequence: 5 * time.Millisecond,
		})
		e.submit(start, 15, 0, 4).gone.Store(true) // its client left: it costs nothing
		prompts := []*sequence{e.submit(start, 15, 0, 4), e.submit(start, 15, 0, 4), e.submit(start, 15, 0, 4)}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { e.run(ctx) })
		for i, want := range [][]time.Duration{
			millis(
				110, // 10 tokens of this prompt from 90 to 100, then its last 5 and 5 of the next
				129, // a decode step with 9 tokens of the next prompt
				140, // with its last one
				155, // two are decoded; no room for the third
			),
			millis(
				140, // prefilled beside the third token of the first prompt
				155,
				174, // a decode step with 9 tokens of the third prompt
				190, // with its last 6
			),
			millis(190, 200, 210, 220),
		} {
			var got []time.Duration
			for k := range want {
				at, err := prompts[i].due(ctx, k)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, at.Sub(start))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("prompt %d (-want +got):\n%s", i+1, diff)
			}
		}
		stop()
		running.Wait()
	})
}
