package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestWhatErrorsHide holds which values of headers are taken for secrets: credentials, whatever the header, and no
// ordinary words.
func TestWhatErrorsHide(t *testing.T) {
	for _, test := range []struct{ header, value, text, want string }{
		{"X-Team", "search, server", "server error: search is down", "server error: search is down"},
		{"X-Portkey-Provider", "openai", "openai error: Invalid URL", "openai error: Invalid URL"},
		{"X-Gateway-Model-Name", "llama-3.1-8b", "no model llama-3.1-8b", "no model llama-3.1-8b"},
		{"Authorization", "Bearer sesame", "Bearer sesame is wrong", "Bearer *** is wrong"},
		{"Proxy-Authorization", "Basic c2VzYW1l", "bad c2VzYW1l", "bad ***"},
		{"X-Api-Key", "sesame", "key sesame is unknown", "key *** is unknown"},
		{"Apikey", "sesame", "key sesame is unknown", "key *** is unknown"},
		{"X-Amz-Security-Token", "sesame", "token sesame", "token ***"},
		{"X-Vault_Secret", "sesame", "sesame?", "***?"},
		{"Cookie", "sid=sesame; theme=dark", "bad sid=sesame, theme=dark", "bad sid=***, theme=dark"},
		{"X-Portkey-Config", `{"provider":"openai","api_key":"sk-a1b2c3d4e5f6a7b8"}`,
			"openai says: sk-a1b2c3d4e5f6a7b8", "openai says: ***"},
	} {
		target := Target{Header: http.Header{test.header: {test.value}}}
		if got := target.scrub(errors.New(test.text), wire.Ask{}); got.Error() != test.want {
			t.Errorf("%s: %q: %q, want %q", test.header, test.value, got, test.want)
		}
	}
}

// TestALongSecretIsHiddenAtOnce, though no text can hold more than its start.
func TestALongSecretIsHiddenAtOnce(t *testing.T) {
	secret := "sk-verysecret" + strings.Repeat("x", 1<<20)
	if got := hide("key sk-verysecret"+wire.Cut+"refused", secret); got != "key ***"+wire.Cut+"refused" {
		t.Error(got)
	}
}

// TestErrorsHoldNoSecrets holds that what a server repeats is not passed on, and no answer that is not a stream is.
func TestErrorsHoldNoSecrets(t *testing.T) {
	prompt := "Words: " + strings.Repeat("time money ", 20)
	for name, body := range map[string]string{
		"a part of a cookie": `{"error":{"message":"bad cookie session=verysecretcookie, theme=dark"}}`,
		"the key":            `{"error":{"message":"Incorrect API key provided: sk-verysecret"}}`,
		"a cut key":          `{"error":{"message":"` + strings.Repeat("x", 275) + ` key provided: sk-verysecret"}}`,
		"the prompt":         `{"detail":[{"loc":["body"],"input":"` + prompt + `"}]}`,
		"the answer":         `{"choices":[{"message":{"content":"This is verysecret."}}]}`,
	} {
		inBubble(t, name, func(t *testing.T) {
			status := http.StatusInternalServerError
			if name == "the answer" {
				status = http.StatusOK
			}
			target := serve(t, reply(status, body))
			target.Key = "sk-verysecret"
			target.Header = http.Header{"Cookie": {"session=verysecretcookie; theme=dark"}}
			ask := wire.Ask{Turns: []wire.Turn{{Role: "system", Text: prompt}}, Prompt: "p", MaxTokens: 1}
			_, err := target.Tokenize(t.Context(), ask)
			for _, err := range []error{target.Probe(t.Context(), ask).Err, err} {
				if err != nil && (strings.Contains(err.Error(), "verysec") || strings.Contains(err.Error(), "money time money")) {
					t.Error(err)
				}
			}
		})
	}
}

// TestScrubbedErrorsKeepTheirReason holds that hints survive the removal of a secret.
func TestScrubbedErrorsKeepTheirReason(t *testing.T) {
	err := Target{Key: "sk-1234567890"}.scrub(withReason(errors.New("no template for sk-1234567890"), ErrNoTemplate),
		wire.Ask{})
	if err.Error() != "no template for ***" || !errors.Is(err, ErrNoTemplate) {
		t.Errorf("%v, of no template: %t", err, errors.Is(err, ErrNoTemplate))
	}
}

// TestErrorsDoNotRepeatThePrompt holds that a text which repeats a prompt is cut where that begins, wherever it is in
// both.
func TestErrorsDoNotRepeatThePrompt(t *testing.T) {
	prompt := words(2000)
	asks := map[string]wire.Ask{
		"in the prompt": {Prompt: prompt}, "in a turn": {Prompt: "no", Turns: []wire.Turn{{Text: "hello"}, {Text: prompt}}},
	}
	for name, ask := range asks {
		for before := range 40 {
			for _, length := range []int{47, 48, 100} {
				for _, from := range []int{0, 7, 1600, len(prompt) - length} {
					words := strings.Repeat("#", before)
					got := Target{}.scrub(errors.New(words+prompt[from:from+length]+"?"), ask).Error()
					if want := words + "… (the rest repeats the prompt)"; got != want {
						t.Fatalf("%s, %d bytes from %d on after %d: %q", name, length, from, before, got)
					}
				}
			}
		}
		if got := (Target{}).scrub(errors.New("a "+prompt[:31]), ask).Error(); got != "a "+prompt[:31] {
			t.Errorf("%s: a word or two are no repeat: %q", name, got)
		}
	}
}

// words are n words in an order of their own.
func words(n int) string {
	from := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%x ", from.Uint32())
	}
	return b.String()
}

// BenchmarkScrub removes nothing from an error of 400 bytes, after a prompt of 21,000 tokens.
func BenchmarkScrub(b *testing.B) {
	ask := wire.Ask{Prompt: words(21000)[:130_000]}
	text := words(100)[:400]
	text = strings.ToUpper(text)
	err := fmt.Errorf("HTTP 500: %s", text)
	for b.Loop() {
		_ = Target{}.scrub(err, ask)
	}
}
