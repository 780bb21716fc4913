package probe

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// TestFramingOf holds how a body is framed by its first bytes, whatever its type says, and after how many of them that
// is known. None is looked at that is not needed.
func TestFramingOf(t *testing.T) {
	for _, test := range []struct {
		body string
		want framing
		at   int // bytes until it is known; 0: not before the end
	}{
		{"data: {}\n\n", eventStream, 5},
		{"\r\n: ping\n\n", eventStream, 3},
		{"\xef\xbb\xbfevent: x\n", eventStream, 9},
		{"id: 1\n", eventStream, 3},
		{"retry: 1\n", eventStream, 6},
		{"{\"a\":1}\n{\"b\":2}\n", jsonLines, 9},
		{"{\"a\":1}\r\n\r\n{", jsonLines, 12},
		{"{\"a\":1}\n", notFramed, 0},
		{"{\"a\":1}", notFramed, 0},
		{"{\n \"a\":1}", notFramed, 2},
		{"{\"a\":1}\n<html>", notFramed, 9},
		{"[1]\n[2]", notFramed, 1},
		{"<html>", notFramed, 1},
		{"date: today", notFramed, 4},
		{"", notFramed, 0},
		{"dat", notFramed, 0},
	} {
		got, known := notFramed, false
		at := 0
		for n := 0; n <= len(test.body) && !known; n++ {
			got, known = framingOf([]byte(test.body[:n]))
			if known {
				at = n
			}
		}
		if got != test.want || at != test.at {
			t.Errorf("%q is %v, known after %d bytes; want %v after %d", test.body, got, at, test.want, test.at)
		}
	}
}

// TestAnOpenBodyIsReadWhole holds that what was looked at is read again, with the arrivals that it had, and then the
// body's error.
func TestAnOpenBodyIsReadWhole(t *testing.T) {
	const sent = "{\"a\":1}\n{\"b\":2}\n"
	for _, ask := range []int{1, 3, 4096} {
		read := uint64(0) // reads of the body so far
		rest := io.MultiReader(strings.NewReader(sent), iotest.ErrReader(io.ErrClosedPipe))
		counted := readerFunc(func(p []byte) (int, error) {
			read++
			return rest.Read(p)
		})
		body := &openBody{
			ReadCloser: io.NopCloser(counted),
			arrivals:   func(int64) stream.Arrival { return stream.Arrival{Read: read} },
			ask:        ask, onlyLast: true,
		}
		if got := body.framing(); got != jsonLines {
			t.Fatalf("asking %d: %v", ask, got)
		}
		looked := len(body.unread)
		for end := 1; end <= looked; end++ {
			if got, want := body.arrival(int64(end)).Read, uint64((end-1)/ask+1); got != want {
				t.Errorf("asking %d: byte %d came with read %d, want %d", ask, end, got, want)
			}
		}
		got, err := io.ReadAll(body)
		if string(got) != sent || err == nil {
			t.Errorf("asking %d: read %q, %v", ask, got, err)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestAnswersOfAnotherType holds that an answer is measured alike whatever type it has, and that a wrong one is warned
// of.
func TestAnswersOfAnotherType(t *testing.T) {
	line := func(text string, done bool) string {
		return fmt.Sprintf(`{"model":"m","message":{"role":"assistant","content":%q},"done":%t,"done_reason":%q,`+
			`"eval_count":2,"prompt_eval_count":9}`+"\n", text, done, map[bool]string{true: "length"}[done])
	}
	asLines := script{
		{after: ms, send: line("a", false)}, {after: 20 * ms, send: line("b", false)}, {send: line("", true)},
	}
	asEvents := script{
		{after: ms, send: data(token)}, {after: 20 * ms, send: data(token)}, {send: data(limit, usage(9, 2), done)},
	}
	for _, test := range []struct {
		api, header string
		sent        script
		body        string // what it is, if the header does not say so
	}{
		{"openai-chat", "text/event-stream", asEvents, ""},
		{"openai-chat", "application/json", asEvents, "an event stream"},
		{"openai-chat", "text/plain; charset=utf-8", asEvents, "an event stream"},
		{"openai-chat", "application/x-ndjson", asEvents, "an event stream"},
		{"openai-chat", "text/html", asEvents, "an event stream"},
		{"openai-chat", "-", asEvents, "an event stream"},
		{"ollama", "application/x-ndjson", asLines, ""},
		{"ollama", "application/json", asLines, "lines of JSON"},
		{"ollama", "text/event-stream", asLines, "lines of JSON"},
		{"ollama", "-", asLines, "lines of JSON"},
	} {
		inBubble(t, test.api+" "+test.header, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", test.header)
				if test.header == "-" {
					w = bare{w}
				}
				test.sent.stream(w, r)
			})
			target.Dialect = must(wire.Lookup(test.api))
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 2})
			want := []string{"ok", "TTFT 1ms", "TPOT 20ms", "E2EL 21ms", "max gap 20ms", "gaps 1×20ms", "ITL 1×20ms",
				"9 prompt", "2 output", "by total"}
			equal(t, "measured", want, Measurements(r))
			var warned []Warning
			if test.body != "" {
				kind := map[string]string{"-": "missing"}[test.header]
				kind = cmp.Or(kind, mediaType(&http.Response{Header: http.Header{"Content-Type": {test.header}}}))
				warned = []Warning{{Kind: WarnContentType, Words: kind, Framing: test.body}}
			}
			equal(t, "warnings", warned, r.Warnings)
		})
	}
}

// TestLinesAreReadAsTheyCome holds that lines of JSON which have their type are read one by one: the first one does not
// wait for the second, which may never come.
func TestLinesAreReadAsTheyCome(t *testing.T) {
	for _, test := range []struct {
		line string
		want Outcome
		took time.Duration
	}{
		{`{"model":"m","message":{"role":"assistant","content":"a"},"done":false}`, Stalled, 30*time.Second + ms},
		{`{"error":"no more memory"}`, ServerError, ms},
	} {
		inBubble(t, string(test.want), func(t *testing.T) {
			sent := script{{after: ms, send: test.line + "\n"}}.hangs()
			target := serve(t, withType(typeNDJSON, sent.stream))
			target.Dialect = must(wire.Lookup("ollama"))
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 2})
			endsAs(t, r, test.want, "")
			equal(t, "elapsed", test.took, r.Elapsed)
		})
	}
}

// bare sends no Content-Type.
type bare struct{ http.ResponseWriter }

func (b bare) WriteHeader(status int) {
	b.Header()["Content-Type"] = nil
	b.ResponseWriter.WriteHeader(status)
}

func (b bare) Write(p []byte) (int, error) {
	b.Header()["Content-Type"] = nil
	return b.ResponseWriter.Write(p)
}

func (b bare) Unwrap() http.ResponseWriter { return b.ResponseWriter }
