package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/format"
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

// echoes are answers to a probe that repeat a key in different places.
func echoes(key string) map[string]string {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	quoted := func(text string) string { return strings.Trim(fmt.Sprintf("%q", text), `"`) }
	ended := func(reason string) string {
		return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + quoted(reason) + `"}]}`
	}
	failed := `{"error":{"message":"no ` + quoted(key) + `","type":"` + quoted(key) + `","code":"` + quoted(key) + `"}}`
	return map[string]string{
		"finish reason":     head + "\r\n" + data(token, ended(key), done),
		"long reason":       head + "\r\n" + data(token, ended(strings.Repeat("x", 90)+key), done),
		"error in a frame":  head + "\r\n" + data(failed),
		"error after one":   head + "\r\n" + data(token, failed),
		"error in comments": head + "\r\nevent: error\n: " + key + "\n\n",
		"error as text":     head + "\r\nevent: error\ndata: " + key + "\n\n",
		"frame":             head + "\r\n" + data(key),
		"event name":        head + "\r\nevent: " + key + "\ndata: " + key + "\n\n",
		"content coding":    head + "Content-Encoding: " + key + "\r\n\r\n\x00",
		"chunk":             head + "Transfer-Encoding: chunked\r\n\r\n" + key + "\r\n",
		"transfer encoding": head + "Transfer-Encoding: " + key + "\r\n\r\n",
		"length":            head + "Content-Length: " + key + "\r\n\r\n",
		"header line":       head + key + "\r\n\r\n",
		"protocol":          key + "/1.1 200 OK\r\n\r\n",
		"content type":      "HTTP/1.1 200 OK\r\nContent-Type: " + key + "\r\n\r\n{}",
		"page":              "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>" + key + "</title>",
		"error with 200":    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + failed,
		"status line":       "HTTP/1.1 500 " + key + "\r\nServer: " + key + "\r\nVia: " + key + "\r\n\r\n",
		"error":             "HTTP/1.1 400 No\r\nContent-Type: application/json\r\n\r\n" + failed,
		"error, cut":        "HTTP/1.1 400 No\r\n\r\n" + strings.Repeat("z", 285) + key,
		"error, cut in ä":   "HTTP/1.1 400 No\r\n\r\n" + strings.Repeat("ä", 143) + key,
		"error page":        "HTTP/1.1 502 No\r\nContent-Type: text/html\r\n\r\n<h1>" + key + "</h1>",
		"redirect":          "HTTP/1.1 302 No\r\nLocation: http://x/" + key + "/" + "\r\nContent-Length: 0\r\n\r\n",
		"redirect's host":   "HTTP/1.1 302 No\r\nLocation: http://" + key + ".x/\r\nContent-Length: 0\r\n\r\n",
		"pause":             "HTTP/1.1 429 No\r\nRetry-After: " + key + "\r\nContent-Length: 0\r\n\r\n",
	}
}

// TestNothingShowsTheKey holds that no text which is kept of an answer has the key, wherever and however the server
// repeats it, also after it was cleaned for a page.
func TestNothingShowsTheKey(t *testing.T) {
	const key = "sk-Very+Secret/key=Here12345"
	parts := []string{"sk-very+secret/key", "here12345"} // "=" separates parts of credentials
	forms := map[string]string{
		"as it is":             key,
		"in upper case":        strings.ToUpper(key),
		"percent-encoded":      url.QueryEscape(key),
		"coloured":             "sk-Very+\x1b[0mSecret/key=Here\x1b[1m12345",
		"with zero width":      "sk-Ve\u200bry+Secret/key=Here\u200b12345",
		"with a broken letter": "sk-Ve\xffry+Secret/key=Here\xff12345",
		"with control letters": "sk-Ve\x00ry+Secret/key=He\x00re12345",
	}
	for form, written := range forms {
		for place, answer := range echoes(written) {
			inBubble(t, place+" "+form, func(t *testing.T) {
				target := newTarget(answering(answer, io.EOF))
				target.Key = key
				r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 1})
				_, _, discovered := target.identify(t.Context(), "", "")
				_, counted := target.Tokenize(t.Context(), wire.Ask{Prompt: "p"})
				shown := append(textsIn(reflect.ValueOf(*r)), fmt.Sprint(discovered), fmt.Sprint(counted))
				for _, text := range shown {
					plain, _ := url.QueryUnescape(text)
					for _, text := range []string{text, plain, format.Clean(text), strings.ToValidUTF8(format.Clean(text), "")} {
						for _, part := range parts {
							if strings.Contains(strings.ToLower(text), part) {
								t.Fatalf("%s: %q", r.Outcome, text)
							}
						}
					}
				}
			})
		}
	}
}

// TestALongContentTypeShowsNoKey holds that the beginning of a key is not shown either, where a content type is cut.
func TestALongContentTypeShowsNoKey(t *testing.T) {
	for before := 70; before < 100; before++ {
		inBubble(t, fmt.Sprint(before), func(t *testing.T) {
			contentType := strings.Repeat("x", before) + "sk-verysecret"
			target := newTarget(answering("HTTP/1.1 200 OK\r\nContent-Type: "+contentType+"\r\n\r\n{}", io.EOF))
			target.Key = "sk-verysecret"
			r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 1})
			endsAs(t, r, NotStreamed, "xxx")
			if strings.Contains(r.Err.Error(), "sk-ver") {
				t.Error(r.Err)
			}
		})
	}
}

// textsIn returns all texts in what a value exports, and those of its errors.
func textsIn(v reflect.Value) []string {
	err, isError := reflect.TypeAssert[error](v)
	if isError && (v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface || !v.IsNil()) {
		return []string{err.Error()}
	}
	var texts []string
	switch v.Kind() {
	case reflect.String:
		return []string{v.String()}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return textsIn(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			texts = append(texts, textsIn(v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			texts = append(append(texts, textsIn(key)...), textsIn(v.MapIndex(key))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				texts = append(texts, textsIn(v.Field(i))...)
			}
		}
	}
	return texts
}

// TestWhatIsFoundShowsNoKey holds it for what a server says about itself. A model whose name repeats the key is not
// asked for; one that is named like the key's beginning is.
func TestWhatIsFoundShowsNoKey(t *testing.T) {
	const key = "llama-8b-secret"
	for name, test := range map[string]struct {
		models, version string
		want            []wire.Model
		wantVersion     string
		says            string
	}{
		"a name":            {`{"id":"llama-8b-secret"},{"id":"m"}`, "1.2", []wire.Model{{ID: "m"}}, "1.2", ""},
		"in a name":         {`{"id":"x/LLAMA-8b%2Dsecret:1"},{"id":"m"}`, "1.2", []wire.Model{{ID: "m"}}, "1.2", ""},
		"in a coloured one": {`{"id":"llama-8b\u001b[0m-secret"},{"id":"m"}`, "1.2", []wire.Model{{ID: "m"}}, "1.2", ""},
		"a beginning":       {`{"id":"llama-8b"}`, "1.2", []wire.Model{{ID: "llama-8b"}}, "1.2", ""},
		"the only name":     {`{"id":"llama-8b-secret"}`, "1.2", nil, "1.2", "repeat credentials"},
		"a version":         {`{"id":"m"}`, "1 llama-8b-\u200bsecret", []wire.Model{{ID: "m"}}, "1 ***", ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/version" {
					reply(200, `{"version":"`+test.version+`"}`)(w, r)
				} else {
					reply(200, `{"object":"list","data":[`+test.models+`]}`)(w, r)
				}
			})
			target.Key = key
			target.Server = must(wire.LookupServer("vllm"))
			found, models, err := target.identify(t.Context(), "", "")
			equal(t, "models", test.want, models)
			equal(t, "version", test.wantVersion, found.Version)
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

// TestLimitsAreReadFromTheWholeText holds that how long a prompt may be is learned although the words that are shown
// end before it: of a tokenizer, of an answer and of an error in a stream.
func TestLimitsAreReadFromTheWholeText(t *testing.T) {
	tooLong := `{"error":{"message":"` + strings.Repeat("I am sorry. ", 40) + `This model's maximum context length is ` +
		`150 tokens. However, you requested 208 tokens.","code":400}}`
	probes := func(ctx context.Context, m *Member) { m.Probe(ctx, Question{Ask: wire.Ask{Prompt: "p"}}) }
	tokenizes := func(ctx context.Context, m *Member) { _, _ = m.Tokenize(ctx, wire.Ask{Prompt: "p"}) }
	for name, test := range map[string]struct {
		server http.HandlerFunc
		ask    func(context.Context, *Member)
	}{
		"tokenizer": {reply(400, tooLong), tokenizes},
		"answer":    {reply(400, tooLong), probes},
		"stream":    {after(ms, tooLong).stream, probes},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.server)
			target.Server = must(wire.LookupServer("vllm"))
			m := NewMember(target, "m", 1)
			test.ask(t.Context(), m)
			equal(t, "context", 150, m.Knowledge().Limits.Context)
		})
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
