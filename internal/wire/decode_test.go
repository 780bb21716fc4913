package wire

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestDecode holds what each frame of testdata says.
func TestDecode(t *testing.T) {
	for _, d := range dialects {
		checkCases(t, filepath.Join("testdata", d.Name, "frames.txt"), func(frame string) string {
			delta, err := d.Decode([]byte(frame))
			if err != nil {
				return err.Error()
			}
			return meaning(delta)
		})
	}
}

// meaning returns what a delta says, in words.
func meaning(d Delta) string {
	var l words
	l.add(d.Choice, "choice")
	l.add(d.Role, "role without text")
	l.add(d.Whole, "the whole answer so far")
	l.add(len(d.Text) > 0, "text %q", d.Text)
	l.add(d.Refusal, "refused")
	l.add(len(d.Reasoning) > 0, "reasoning %q", d.Reasoning)
	l.add(d.Finish != "", "finish %s", d.Finish)
	l.add(d.Tokens != 0, "token ids: %d", d.Tokens)
	l.add(d.Early, "early usage")
	l.add(d.End, "the end")
	l.add(d.Usage.Prompt.Known, "prompt: %d", d.Usage.Prompt.N)
	l.add(d.Usage.Cached.Known, "cached: %d", d.Usage.Cached.N)
	l.add(d.Usage.Output.Known, "output: %d", d.Usage.Output.N)
	l.add(d.Usage.Reasoning.Known, "reasoning: %d", d.Usage.Reasoning.N)
	l.add(d.Usage.Total.Known, "total: %d", d.Usage.Total.N)
	l.addError(d.Err)
	return l.String()
}

func BenchmarkDecode(b *testing.B) {
	for _, d := range dialects {
		b.Run(d.Name, func(b *testing.B) {
			frame := tokenFrame(b, d)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = d.Decode(frame)
			}
		})
	}
}

// tokenFrame returns the first frame of a dialect's file: a token, as a server sends it.
func tokenFrame(t testing.TB, d *Dialect) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", d.Name, "frames.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, frames, _ := bytes.Cut(file, []byte("\n< "))
	frame, _, _ := bytes.Cut(frames, []byte("\n"))
	return frame
}
