package wire

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecode holds what each frame of testdata says.
func TestDecode(t *testing.T) {
	for _, d := range dialectsWithFrames(t) {
		checkCases(t, framesOf(d), func(frame string) string {
			delta, err := d.Decode([]byte(frame))
			if err != nil {
				return err.Error()
			}
			return meaning(delta)
		})
	}
}

func TestTypesOfEvents(t *testing.T) {
	for _, test := range []struct {
		dialect           *Dialect
		event, data, want string
	}{
		{anthropic, "message_stop", `{}`, `{"type":"message_stop"}`},
		{anthropic, "message_stop", ` { } `, `{"type":"message_stop"}`},
		{anthropic, "content_block_delta", `{"index":0}`, `{"type":"content_block_delta","index":0}`},
		{anthropic, "content_block_delta", `{"index":0,"type":"ping"}`, `{"index":0,"type":"ping"}`},
		{anthropic, "content_block_delta", `{"delta":{"type":"text_delta"}}`,
			`{"type":"content_block_delta","delta":{"type":"text_delta"}}`},
		{anthropic, `a"b`, `{"index":0}`, `{"type":"a\"b","index":0}`},
		{anthropic, "", `{"index":0}`, `{"index":0}`},
		{anthropic, "error", `{"index":`, `{"index":`},
		{anthropic, "error", `[1]`, `[1]`},
		{anthropic, "error", ``, ``},
		{responses, "response.completed", `{"response":{}}`, `{"response":{}}`},
		{chat, "message", `{"choices":[]}`, `{"choices":[]}`},
	} {
		got := string(test.dialect.WithType(test.event, []byte(test.data)))
		if got != test.want {
			t.Errorf("%s, event %q, %s: %s, want %s", test.dialect.Name, test.event, test.data, got, test.want)
		}
	}
}

// meaning returns what a delta says, in words.
func meaning(d Delta) string {
	var l words
	l.add(d.Choice, "choice")
	l.add(d.RoleOnly, "role without text")
	l.add(len(d.Text) > 0, "text %q", d.Text)
	for _, call := range d.Calls {
		l.add(true, "call %d of %q with %q", call.Index, call.Name, call.Arguments)
	}
	l.add(len(d.RepeatedText) > 0, "repeats %q", d.RepeatedText)
	l.add(d.Refusal, "refused")
	l.add(len(d.Reasoning) > 0, "reasoning %q", d.Reasoning)
	l.add(d.ID != "", "id %s", d.ID)
	l.add(len(d.Model) > 0, "model %s", d.Model)
	l.add(d.Finish != "", "finish %s", d.Finish)
	l.add(d.Tokens != 0, "token ids: %d", d.Tokens)
	l.add(d.EarlyUsage, "early usage")
	l.add(d.End, "the end")
	l.add(d.Usage.Prompt.Known, "prompt: %d", d.Usage.Prompt.N)
	l.add(d.Usage.Cached.Known, "cached: %d", d.Usage.Cached.N)
	l.add(d.Usage.Written.Known, "written: %d", d.Usage.Written.N)
	l.add(d.Usage.Output.Known, "output: %d", d.Usage.Output.N)
	l.add(d.Usage.Reasoning.Known, "reasoning: %d", d.Usage.Reasoning.N)
	l.add(d.Usage.Total.Known, "total: %d", d.Usage.Total.N)
	l.addError(d.Err)
	if d.BareMessage != nil {
		l.add(true, "a message: %q", d.BareMessage.Error())
	}
	return l.String()
}

func BenchmarkDecode(b *testing.B) {
	for _, d := range dialectsWithFrames(b) {
		b.Run(d.Name, func(b *testing.B) {
			frame := tokenFrame(b, d)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = d.Decode(frame)
			}
		})
	}
}

// dialectsWithFrames returns the dialects of which testdata has single frames.
func dialectsWithFrames(t testing.TB) []*Dialect {
	t.Helper()
	var list []*Dialect
	for _, path := range files(t, "*/frames.txt") {
		d, err := Lookup(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

func framesOf(d *Dialect) string { return filepath.Join("testdata", d.Name, "frames.txt") }

// tokenFrame returns the first frame of a dialect's file: a token, as a server sends it.
func tokenFrame(t testing.TB, d *Dialect) []byte {
	t.Helper()
	file, err := os.ReadFile(framesOf(d))
	if err != nil {
		t.Fatal(err)
	}
	_, frames, _ := bytes.Cut(file, []byte("\n< "))
	frame, _, _ := bytes.Cut(frames, []byte("\n"))
	return frame
}

// TestADeepFrameIsReadInLinearTime holds that values within values are not read again at each level: such a frame of
// 4 MB would take longer than all tests may. What is nested deeper than any server nests it says nothing.
func TestADeepFrameIsReadInLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	const levels = 4_800 // twice as many brackets: a few less than encoding/json allows
	for _, test := range []struct {
		dialect             *Dialect
		start, level, close string
	}{
		{chat, `{"choices":[{"delta":{"content":`, `[{"thinking":`, `}}]}`},
		{chat, `{"choices":[{"delta":{"reasoning_details":`, `{"summary":{"text":`, `}}]}`},
		{chat, `{"choices":[{"delta":{}}],"usage":`, `{"prompt_tokens_details":{"input_tokens_details":`, `}`},
		{completions, `{"choices":[{"reasoning":`, `[{"content":`, `}]}`},
		{anthropic, `{"type":"content_block_delta","delta":{"thinking":`, `[{"text":`, `}}`},
		{responses, `{"type":"response.reasoning_text.delta","delta":`, `[{"text":`, `}`},
		{chat, `{"response":`, `{"response":`, `}`},
		{chat, `{"error":`, `{"errors":[`, `}`},
		{chat, `{"XException":`, `{"detail":{"XException":`, `}`},
		{ollama, `{"message":{"content":`, `[{"text":`, `}}`},
	} {
		var frame strings.Builder
		frame.WriteString(test.start)
		frame.WriteString(strings.Repeat(test.level, levels))
		frame.WriteString(`"` + strings.Repeat("x", 4<<20) + `"`)
		closing := map[byte]string{'[': "]", '{': "}"}
		for range levels {
			for i := len(test.level) - 1; i >= 0; i-- {
				frame.WriteString(closing[test.level[i]])
			}
		}
		frame.WriteString(test.close)
		delta, err := test.dialect.Decode([]byte(frame.String()))
		if err != nil || len(delta.Text)+len(delta.Reasoning) > 0 {
			t.Errorf("%s: %d bytes of text, %v", test.start, len(delta.Text)+len(delta.Reasoning), err)
		}
	}
}

// TestAFrameOfManyPartsIsReadInLinearTime holds that the text of a part is not copied again for each part after it.
func TestAFrameOfManyPartsIsReadInLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	const parts = 500_000
	frame := `{"choices":[{"delta":{"content":[{"text":"x"}` + strings.Repeat(`,{"text":"x"}`, parts-1) + `]}}]}`
	delta, err := chat.Decode([]byte(frame))
	if err != nil || len(delta.Text) != parts {
		t.Errorf("%d bytes of text, want %d (%v)", len(delta.Text), parts, err)
	}
}
