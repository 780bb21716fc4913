//go:build !race

package probe

// The race detector makes sync.Pool forget, so allocations are counted without it.

import (
	"fmt"
	"testing"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// vllmFrame is a frame of one token as vLLM sends it with continuous usage.
func vllmFrame(n int) string {
	return fmt.Sprintf(`{"id":"chatcmpl-3f6c1c2e9d5b4a6f8e7d","object":"chat.completion.chunk","created":1763700000,`+
		`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,`+
		`"finish_reason":null}],"usage":{"prompt_tokens":21000,"total_tokens":%d,"completion_tokens":%d}}`, 21000+n, n)
}

// TestReadingATokenFrameAllocatesNothing: cut out of the body, decoded and entered in the timeline.
func TestReadingATokenFrameAllocatesNothing(t *testing.T) {
	next := readTokenFrame(t, 1)
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("%v allocations a token frame", n)
	}
}

// readTokenFrame returns what reads the next of endless token frames.
func readTokenFrame(tb testing.TB, ask int) func() {
	chat, _ := wire.Lookup("openai-chat")
	frames := stream.NewSSE(&repeating{text: data(vllmFrame(50))}, func(int64) stream.Stamp { return stream.Stamp{} }, ask)
	f := newAccumulator(&Result{}, 1<<10, false)
	return func() {
		if len(f.Tokens) == cap(f.Tokens) {
			f.Tokens = f.Tokens[:0]
		}
		frame, err := frames.Next()
		if err != nil {
			tb.Fatal(err)
		}
		delta, err := chat.Decode(frame.Data)
		if err != nil || !f.add(frame.Stamp, delta) {
			tb.Fatal("no token frame: ", err)
		}
	}
}

// repeating is a body that repeats a text for ever.
type repeating struct {
	text string
	at   int
}

func (r *repeating) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}
