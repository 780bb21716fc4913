package probe

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/wire"
)

// TestAModelThatIsGone holds what is said of a server that has lost its model, and that it is found again when it comes
// back.
func TestAModelThatIsGone(t *testing.T) {
	const (
		listed = `{"object":"list","data":[{"id":"tiny","object":"model","created":1,"owned_by":"nvidia"}]}`
		empty  = `{"object":"list","data":[]}`
		path   = "(POST /v1/chat/completions)"
	)
	for name, test := range map[string]struct {
		model     string // configured; empty: the server's first
		worked    bool   // before it was lost
		page      string // body of the 404
		says      []string
		reason    error
		withProbe bool // one was sent although the model is lost
	}{
		"named, after success": {"tiny", true, "",
			[]string{"the server no longer serves model tiny: HTTP 404 " + path}, ErrModelGone, true},
		"named, with a text": {"tiny", true, "gone",
			[]string{"the server no longer serves model tiny: HTTP 404: gone " + path}, ErrModelGone, true},
		"named, from the start": {"tiny", false, "",
			[]string{"the server serves no model: HTTP 404 " + path}, ErrNoModel, true},
		"the first one, after": {"", true, "",
			[]string{"the server no longer serves model tiny: HTTP 404",
				"the server serves no model: its list of models is empty"}, ErrNoModel, false},
		"the first one, at the start": {"", false, "",
			[]string{"the server serves no model: its list of models is empty"}, ErrNoModel, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			lost, probes := false, 0
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/v1/models" && lost:
					reply(200, empty)(w, r)
				case r.URL.Path == "/v1/models":
					reply(200, listed)(w, r)
				case r.URL.Path != "/v1/chat/completions":
					http.NotFound(w, r)
				case lost:
					probes++
					answers(404, "", test.page)(w, r)
				default:
					twoIn(ms).stream(w, r)
				}
			})
			target.Dialect = nil
			m := NewMember(target, test.model, 1)
			if test.worked {
				endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			}
			lost = true
			var r *Result
			for _, says := range test.says {
				probes = 0
				r = m.Probe(t.Context(), question(2))
				endsAs(t, r, Rejected, says)
			}
			if !errors.Is(r.Err, test.reason) || (probes > 0) != test.withProbe {
				t.Errorf("%d probes sent; %v, want the reason %v", probes, r.Err, test.reason)
			}
			lost = false
			endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			if server := m.Capabilities().Server.Name; server != "dynamo" {
				t.Errorf("it is known as %q afterwards", server)
			}
		})
	}
}

// TestAPathThatIsNotThere holds that a 404 of a server of which nothing else is known says no more than that.
func TestAPathThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewMember(serve(t, http.NotFound), "m", 1).Probe(t.Context(), question(2))
		endsAs(t, r, Rejected, "HTTP 404: 404 page not found (POST /v1/chat/completions)")
		if errors.Is(r.Err, ErrModelGone) || errors.Is(r.Err, ErrNoModel) {
			t.Errorf("%v is more than was shown", r.Err)
		}
	})
}

// TestReasonsOfRejections holds what is known of a rejection by its words.
func TestReasonsOfRejections(t *testing.T) {
	type reasons struct{ tooLong, noTemplate bool }
	for body, want := range map[string]reasons{
		`{"error":{"message":"This model's maximum context length is 4096 tokens"}}`:      {tooLong: true},
		`{"error":"Template error: template not found","error_type":"template_error"}`:    {noTemplate: true},
		`{"message":"you must provide a chat template if the tokenizer does not define"}`: {noTemplate: true},
		`{"error":{"message":"max_tokens must be at least 1"}}`:                           {},
	} {
		inBubble(t, body, func(t *testing.T) {
			r := serve(t, reply(400, body)).Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			endsAs(t, r, Rejected, "HTTP 400")
			got := reasons{errors.Is(r.Err, ErrTooLong), errors.Is(r.Err, ErrNoTemplate)}
			if got != want {
				t.Errorf("%v: the reasons are %+v, want %+v", r.Err, got, want)
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

// BenchmarkFailedProbe is a whole probe that fails, with a prompt of 21,000 tokens and an error of 400 bytes: what
// scrubbing is to be compared with.
func BenchmarkFailedProbe(b *testing.B) {
	ask := wire.Ask{Prompt: words(21000)[:130_000], MaxTokens: 100}
	text := strings.ToUpper(words(100)[:280])
	target := serve(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reply(500, `{"error":"`+text+`"}`)(w, r)
	})
	for b.Loop() {
		if r := target.Probe(b.Context(), ask); r.Outcome != ServerError {
			b.Fatal(r.Err)
		}
	}
}
