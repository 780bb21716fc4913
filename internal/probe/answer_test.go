package probe

import (
	"testing"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// TestTextsThatMayBeTheWholeAnswer holds what is kept of SGLang's native answers, with and without
// --incremental-streaming-output: a canary is judged by it.
func TestTextsThatMayBeTheWholeAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		texts []string // of the frames, the last with the finish reason
		want  string
	}{
		"the whole answer in each frame": {[]string{"The", "The code", "The code words", "The code words"},
			"The code words"},
		"increments":                           {[]string{"The", " code", " words", "."}, "The code words."},
		"increments that repeat the beginning": {[]string{"The", " code", "The", "The", " code"}, "The codeTheThe code"},
		"increments of several tokens":         {[]string{"The", " code words", " are"}, "The code words are"},
		"frames without text":                  {[]string{"", "The", "The", "", "The code"}, "The code"},
		"a stop sequence that is cut off":      {[]string{"The", "The code\nUser:", "The code"}, "The code\nUser:"},
		"two increments":                       {[]string{"The code", " words"}, "The code words"},
	} {
		a := newAnswer(&Result{}, Question{Expect: Expectation{Answer: "words"}})
		for i, text := range test.texts {
			d := wire.Delta{Choice: true, Whole: true, Text: []byte(text)}
			if i == len(test.texts)-1 {
				d.Finish = "stop"
			}
			a.add(stream.Timestamp{}, d)
		}
		if string(a.text.bytes) != test.want {
			t.Errorf("%s: %q, want %q", name, a.text.bytes, test.want)
		}
	}
}
