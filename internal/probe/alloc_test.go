//go:build !race

package probe

// The race detector makes sync.Pool forget, so allocations are counted without it.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// TestReadingATokenFrameAllocatesNothing holds that a token frame is cut out of the body and entered in the timeline
// without an allocation but those of decoding.
func TestReadingATokenFrameAllocatesNothing(t *testing.T) {
	event := data(`{"id":"chatcmpl-3f6c1c2e9d5b4a6f8e7d","object":"chat.completion.chunk","created":1763700000,` +
		`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,` +
		`"finish_reason":null}],"usage":{"prompt_tokens":21000,"total_tokens":21050,"completion_tokens":50}}`)
	line := `{"model":"m","created_at":"2026-01-01T00:00:00Z","response":" token","done":false}` + "\n"
	arrivals := func(int64) stream.Arrival { return stream.Arrival{} }
	for _, ask := range []int{1, 4096} {
		for dialect, frames := range map[string]*stream.Frames{
			"openai-chat": stream.NewSSE(strings.NewReader(strings.Repeat(event, 1100)), arrivals, ask),
			"ollama":      stream.NewLines(strings.NewReader(strings.Repeat(line, 1100)), arrivals, ask),
		} {
			t.Run(fmt.Sprintf("%s, asking for %d bytes", dialect, ask), func(t *testing.T) {
				d := must(wire.Lookup(dialect))
				r := &Result{Timeline: timing.Timeline{Frames: make([]timing.Frame, 0, 1100)}}
				f := newAnswer(r, Question{})
				next := func() {
					frame, err := frames.Next()
					if err != nil {
						t.Fatal(err)
					}
					delta, err := d.Decode(frame.Data)
					if err != nil || !f.add(frame.Arrival, delta) {
						t.Fatal("no token frame: ", err)
					}
				}
				frame := must(frames.Next()).Data
				decoding := testing.AllocsPerRun(100, func() { must(d.Decode(frame)) })
				if n := testing.AllocsPerRun(1000, next); n > decoding {
					t.Errorf("%v allocations a token frame, of which decoding has %v", n, decoding)
				}
			})
		}
	}
}
