package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	for _, d := range dialects {
		if got, err := Lookup(d.Name); err != nil || got != d || d.Endless != (d.Name == "triton") {
			t.Errorf("Lookup(%q) = %+v, %v", d.Name, got, err)
		}
	}
	if _, err := Lookup("openai"); err == nil || !strings.Contains(err.Error(), "openai-chat, openai-completions, "+
		"openai-responses, azure-openai, anthropic, sglang, tgi, triton, llama-server, ollama") {
		t.Errorf("error %v does not list the known names", err)
	}
}

func TestUsage(t *testing.T) {
	first := Usage{Prompt: Tokens(10), Cached: Tokens(8), Output: Tokens(3), Total: Tokens(13)}
	second := Usage{Prompt: Tokens(10), Cached: Tokens(0), Output: Tokens(4)}
	want := Usage{Prompt: Tokens(10), Cached: Tokens(8), Output: Tokens(4), Total: Tokens(13)}
	if got := first.Merge(second); got != want || second.Merge(first) != want {
		t.Errorf("merged %+v, want %+v", got, want)
	}
	for _, test := range []struct {
		name  string
		usage Usage
		want  Count
	}{
		{"unknown", Usage{}, Count{}},
		{"as told", Usage{Output: Tokens(5)}, Tokens(5)},
		{"reasoning outside of output", Usage{Prompt: Tokens(12), Output: Tokens(1), Total: Tokens(303)}, Tokens(291)},
		{"told only by the total", Usage{Prompt: Tokens(12), Total: Tokens(20)}, Tokens(8)},
		{"more than any answer has", Usage{Output: Tokens(1 << 25)}, Count{}},
		{"a total below the prompt", Usage{Prompt: Tokens(12), Total: Tokens(2), Output: Tokens(1)}, Tokens(1)},
	} {
		if got := test.usage.Generated(); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestEndings(t *testing.T) {
	for reason, want := range map[string]Ending{
		"stop": Finished, "MAX_TOKENS": AtLimit, "content_filter": Filtered, "abort": Failed, "truncated": CutShort,
		"": Unfinished, "surprise": Unfinished, "load": Unfinished, "unload": Unfinished, "none": Unfinished,
	} {
		if got := EndingOf(reason); got != want {
			t.Errorf("%q ends as %d, want %d", reason, got, want)
		}
	}
}

// FuzzFields holds that reading in place sees what encoding/json sees.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`{}`, `{ "a" : [1, {"b":"\\"]}"}, null ] , "c":-1e5 }`, `{"a":{"b":[[],{}]},"a":""}`,
		"{\"a\" :\n1 ,\t\"b\\\"\":\"\\\\\",\"c\":[ ],\"d\":{ } }"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.TrimSpace(data)
		if !json.Valid(data) || data[0] != '{' {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		eachField(data, func(key, value []byte) {
			got[unquote([]byte(`"`+string(key)+`"`))] = value
			eachElement(value, func(element []byte) {
				if !json.Valid(element) {
					t.Errorf("element %q of %q", element, value)
				}
			})
			if text := stringIn(value); text != nil && string(text) != unquote(value) && utf8.Valid(value) {
				t.Errorf("text %q of %q", text, value)
			}
		})
		if !utf8.Valid(data) {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fields of %q (-want +got):\n%s", data, diff)
		}
	})
}
