package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokenizer(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"white space", " \t\n ", nil},
		{"words", "the quiet river", []string{"the", "quiet", "river"}},
		{"eight characters are one token", "abcdefgh", []string{"abcdefgh"}},
		{"nine are two", "abcdefghi", []string{"abcdefgh", "i"}},
		{"seventeen are three", "abcdefghijklmnopq", []string{"abcdefgh", "ijklmnop", "q"}},
		{"punctuation counts", "waterway. x", []string{"waterway", ".", "x"}},
		{"space in front and behind", "  a\n\nb  ", []string{"a", "b"}},
		{"characters, not bytes", "ääääääää é", []string{"ääääääää", "é"}},
		{"white space of other scripts", "a\u2003b", []string{"a", "b"}},
		{"broken UTF-8", "a\xffb", []string{"a\xffb"}},
	} {
		var got []string
		for s := range spans(test.text) {
			got = append(got, test.text[s.start:s.stop])
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestTemplateOverhead(t *testing.T) {
	for _, test := range []struct {
		name   string
		prompt prompt
		want   int
	}{
		{"chat", chatPrompt([]string{"a b", "c"}), 16},
		{"text", plainPrompt("a b c"), 4},
		{"ids", prompt{ids: []uint32{1, 2, 3}}, 3},
	} {
		if got := digestOf(test.prompt.tokens(), "").tokens; got != test.want {
			t.Errorf("%s: %d tokens, want %d", test.name, got, test.want)
		}
	}
}

func TestEveryAnswerWordIsOneToken(t *testing.T) {
	a := &answer{want: len(answerWords)}
	if got := digestOf(prompt{texts: []string{a.textOf(0, a.want)}}.tokens(), "").tokens; got != a.want {
		t.Errorf("%d words are %d tokens", a.want, got)
	}
}

func TestEndlessLooksAtTheEndOfTheLastMessage(t *testing.T) {
	far := strings.Repeat("x ", 200)
	for text, want := range map[string]bool{
		"Count and do not stop": true, far + "Do NOT stop.": true, "do not stop" + far: false, "stop": false,
	} {
		if got := plainPrompt(text).endless(); got != want {
			t.Errorf("%.20q…: %v, want %v", text, got, want)
		}
	}
	if (prompt{ids: []uint32{1}}).endless() {
		t.Error("ids have no text")
	}
}
