package probe

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/wire"
)

// TestFacts replays answers of real servers as they were recorded, with status line, header and body: PROBER_FACTS
// names the folder, which is not in the repository. Those without a header are bodies of a stream.
func TestFacts(t *testing.T) {
	folder := os.Getenv("PROBER_FACTS")
	if folder == "" {
		t.Skip("PROBER_FACTS names no folder")
	}
	const chat, completions, tgi = "openai-chat", "openai-completions", "tgi"
	for _, fact := range []struct {
		file, api string
		outcome   Outcome
		says      string
		tokens    int // of the answer that frames showed
		reason    error
	}{
		{"tgi-3.3.6/auth_wrong_chat.txt", chat, Unauthorized, "HTTP 401", 0, nil},
		{"tgi-3.3.6/auth_generate_stream.txt", tgi, Unauthorized, "HTTP 401", 0, nil},
		{"tgi-3.3.6/chat_usage.txt", chat, OK, "", 4, nil},
		{"tgi-3.3.6/chat_nousage.txt", chat, OK, "", 3, nil},
		{"tgi-3.3.6/chat_contusage.txt", chat, OK, "", 2, nil},
		{"tgi-3.3.6/completions_usage.txt", completions, OK, "", 4, nil},
		{"tgi-3.3.6/completions_unknown_fields.txt", completions, OK, "", 2, nil},
		{"tgi-3.3.6/gs_details.txt", tgi, OK, "", 4, nil},
		{"tgi-3.3.6/gs_nodetails.txt", tgi, OK, "", 4, nil},
		{"tgi-3.3.6/eos_chat.txt", chat, OK, "", 1, nil},
		{"tgi-3.3.6/eos_completions.txt", completions, OK, "", 1, nil},
		{"tgi-3.3.6/eos_gs.txt", tgi, OK, "", 2, nil},
		{"tgi-3.3.6/chat_nonstream.txt", chat, NotStreamed, "application/json", 0, nil},
		{"tgi-3.3.6/chat_temp0_seed.txt", chat, Rejected, "duplicate field `max_tokens`", 0, nil},
		{"tgi-3.3.6/completions_ids.txt", completions, Rejected, "HTTP 422", 0, nil},
		{"tgi-3.3.6/err_badjson_chat.txt", chat, Rejected, "HTTP 400", 0, nil},
		{"tgi-3.3.6/err_ctype.txt", tgi, Rejected, "HTTP 415", 0, nil},
		{"tgi-3.3.6/err_404.txt", chat, Rejected, "HTTP 404", 0, nil},
		{"tgi-3.3.6/err_payload413.txt", tgi, Rejected, "HTTP 413", 0, nil},
		{"tgi-3.3.6/err_long_chat.txt", chat, Rejected, "must be <= 25000", 0, ErrTooLong},
		{"tgi-3.3.6/err_long_comp.txt", completions, Rejected, "must be <= 25000", 0, ErrTooLong},
		{"tgi-3.3.6/err_long_gs.txt", tgi, Rejected, "must be <= 25000", 0, ErrTooLong},
		{"tgi-3.3.6/err_seed0.txt", tgi, Rejected, "not supported when streaming", 0, nil},
		{"tgi-3.3.6/err_temp0_gs.txt", tgi, Rejected, "must be strictly positive", 0, nil},
		{"tgi-3.3.6/notemplate_chat.txt", chat, Rejected, "template not found", 0, ErrNoTemplate},
		{"tgi-3.3.6/overload_chat.txt", chat, Overloaded, "Model is overloaded", 0, nil},
		{"tgi-3.3.6/overload_completions.txt", completions, Overloaded, "Model is overloaded", 0, nil},
		{"tgi-3.3.6/overload_generate_stream.txt", tgi, Overloaded, "Model is overloaded", 0, nil},
		{"tgi-3.3.6/dead_completions-auto.txt", completions, ServerError, "Connection refused", 0, nil},
		{"tgi-3.3.6/dead_gs-auto.txt", tgi, ServerError, "Connection refused", 0, nil},
		{"tgi-3.3.6/dead_generate-auto.txt", tgi, ServerError, "HTTP 424", 0, nil},
		{"tgi-3.3.6/keepalive_chat.txt", chat, Empty, "without a token", 0, ErrNothing},
		{"dynamo-1.6.1/chat.txt", chat, OK, "", 4, nil},
		{"dynamo-1.6.1/chat-nousage.txt", chat, OK, "", 0, nil}, // of unknown tokens
		{"dynamo-1.6.1/completions.txt", completions, OK, "", 4, nil},
		{"dynamo-1.6.1/completions-ids.txt", completions, OK, "", 4, nil},
		{"dynamo-1.6.1/messages.txt", "anthropic", OK, "", 4, nil},
		{"dynamo-1.6.1/responses.txt", "openai-responses", OK, "", 4, nil},
		{"dynamo-1.6.1/badmodel.txt", chat, Rejected, "Model not found", 0, nil},
		{"dynamo-1.6.1/noworker-404.txt", chat, Rejected, "HTTP 404", 0, nil},
		{"dynamo-1.6.1/toolong.txt", chat, ServerError, "Internal server error", 0, nil},
	} {
		t.Run(fact.file, func(t *testing.T) {
			recorded, err := os.ReadFile(filepath.Join(folder, fact.file))
			if err != nil {
				t.Fatal(err)
			}
			resp := recordedAnswer(t, recorded)
			synctest.Test(t, func(t *testing.T) {
				r := replay(t, resp, fact.api, maxTokens(recorded))
				endsAs(t, r, fact.outcome, fact.says)
				shown := 0
				for _, token := range r.Tokens {
					shown += token.N
				}
				equal(t, "tokens", fact.tokens, shown)
				if fact.reason != nil && !errors.Is(r.Err, fact.reason) {
					t.Errorf("%v, not for the reason %v", r.Err, fact.reason)
				}
				t.Logf("%s: %v; source %s, %d frames, usage %+v", r.Outcome, r.Err, r.Source, len(r.Tokens), r.Usage.Output)
			})
		})
	}
}

// recordedAnswer is the answer in a recording: what stands before it, and what curl wrote after it, is left out.
func recordedAnswer(t *testing.T, recorded []byte) *http.Response {
	t.Helper()
	recorded, _, _ = bytes.Cut(recorded, []byte("\n[curl exit"))
	recorded, _, _ = bytes.Cut(recorded, []byte("\ncurl exit"))
	at := bytes.LastIndex(recorded, []byte("HTTP/1.1 ")) // not the 100 before it
	if at < 0 {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(bytes.NewReader(recorded)),
		}
	}
	head, body, _ := bytes.Cut(bytes.ReplaceAll(recorded[at:], []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(head), strings.NewReader("\n\n"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body)) // already without its chunks, and perhaps with another length
	return resp
}

// maxTokens is how long an answer a recorded request asked for; 10 without one.
func maxTokens(recorded []byte) int {
	match := regexp.MustCompile(`"max_(?:tokens|new_tokens|output_tokens)":(\d+)`).FindSubmatch(recorded)
	if match == nil {
		return 10
	}
	n, _ := strconv.Atoi(string(match[1])) // digits
	return n
}

// replay asks a server that answers so by an API. It is known by the answer's header alone; where that was not
// recorded, as TGI.
func replay(t *testing.T, resp *http.Response, api string, maxTokens int) *Result {
	t.Helper()
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, values := range resp.Header {
			if name != "Content-Length" && name != "Transfer-Encoding" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})
	dialect, err := wire.Lookup(api)
	if err != nil {
		t.Fatal(err)
	}
	target.Dialect = dialect
	ask := wire.Ask{Model: "m", Prompt: "p", MaxTokens: maxTokens}
	if len(resp.Header) == 1 {
		ask.Server, _ = wire.LookupServer("tgi")
	}
	return target.Probe(t.Context(), ask)
}
