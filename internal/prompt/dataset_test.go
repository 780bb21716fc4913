package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/wire"
)

func TestParseDataset(t *testing.T) {
	got, err := ParseDataset([]byte("\ufeff" + `{"prompt": "one", "output_tokens": 5}

  {"text": "two\nlines"}` + "\r\n" + `
{"messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"},` +
		` {"role": "assistant", "content": "ho"}, {"role": "user", "content": "he", "name": "x"}]}
{"prompt": "last", "text": null}`))
	want := [][]wire.Turn{
		{{Role: "user", Text: "one"}}, {{Role: "user", Text: "two\nlines"}},
		{{Role: "system", Text: "be kind"}, {Role: "user", Text: "hi"}, {Role: "assistant", Text: "ho"},
			{Role: "user", Text: "he"}},
		{{Role: "user", Text: "last"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v -want +got\n%s", err, diff)
	}
}

func TestParseDatasetErrors(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"nothing", "\n \n", "the data set holds no prompts"},
		{"no JSON", `{"prompt": "secret`, "line 1: not JSON"},
		{"two objects on a line", `{"prompt": "a"} {"prompt": "b"}`, "line 1: not JSON"},
		{"a text alone", `"secret"`, "line 1: want an object, not string"},
		{"a number", `{"prompt": 12}`, "line 1: prompt: cannot be of the type number"},
		{"neither of them", `{"question": "secret"}`, "line 1: want one of prompt, text and messages"},
		{"two of them", `{"prompt": "secret", "text": "secret"}`, "line 1: want one of prompt, text and messages"},
		{"an empty prompt", `{"prompt": " "}`, "line 1: the prompt is empty"},
		{"no messages", `{"messages": []}`, "line 1: want messages that end with one of the user"},
		{"messages that are text", `{"messages": "secret"}`, "line 1: messages: cannot be of the type string"},
		{"no role", `{"messages": [{"content": "secret"}]}`, "line 1: message 1: want the role system, user or assistant"},
		{"no content", `{"messages": [{"role": "system", "content": "a"}, {"role": "user"}]}`,
			"line 1: message 2: has no content"},
		{"parts", `{"messages": [{"role": "user", "content": [{"type": "text"}]}]}`,
			"line 1: messages.content: cannot be of the type array"},
		{"the last word of the assistant", `{"messages": [{"role": "assistant", "content": "secret"}]}`,
			"line 1: want messages that end with one of the user"},
		{"all lines are named", "{}\n{\"text\": \"good\"}\n\n{}",
			"line 1: want one of prompt, text and messages\nline 4: want one of prompt, text and messages"},
		{"but ten at most", strings.Repeat("x\n", 14), strings.Join([]string{
			"line 1: not JSON", "line 2: not JSON", "line 3: not JSON", "line 4: not JSON", "line 5: not JSON",
			"line 6: not JSON",
			"line 7: not JSON", "line 8: not JSON", "line 9: not JSON", "line 10: not JSON", "and 4 lines more",
		}, "\n")},
	} {
		if _, err := ParseDataset([]byte(test.file)); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
}

func TestDatasetsHaveTheirOwnLengths(t *testing.T) {
	entries := [][]wire.Turn{{{Role: "user", Text: "one two"}},
		{{Role: "system", Text: "be kind"}, {Role: "user", Text: "three"}}}
	o := Options{Workload: Dataset, Tokens: 21000, Seed: 5, Dataset: entries}
	for round := range uint64(5) {
		words := 2 + int(round%2)
		want := Prompt{Turns: entries[round%2][:round%2], Text: []string{"one two", "three"}[round%2],
			Words: words, Repeated: words}
		if diff := cmp.Diff(want, Write(o, round, Size{})); diff != "" || o.Exact(round) {
			t.Errorf("round %d: -want +got\n%s", round, diff)
		}
	}
}
