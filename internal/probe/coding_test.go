package probe

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/llm-prober/prober/internal/wire"
)

// A compressor is a writer that compresses, and that can be told to let go of what it has.
type compressor interface {
	io.WriteCloser
	Flush() error
}

// compressors are makers of compressors, by the header that names them.
var compressors = map[string]func(io.Writer) compressor{
	"gzip":    func(w io.Writer) compressor { return gzip.NewWriter(w) },
	"x-gzip":  func(w io.Writer) compressor { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) compressor { return zlib.NewWriter(w) },
	"Deflate": func(w io.Writer) compressor { return must(flate.NewWriter(w, 6)) },
	"br":      func(w io.Writer) compressor { return brotli.NewWriter(w) },
	"zstd":    func(w io.Writer) compressor { return must(zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))) },
}

// compress returns a text in a coding.
func compress(name, text string) string {
	var b bytes.Buffer
	w := compressors[name](&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// compressed makes a server compress what it sends, and flush each step.
func (s script) compressed(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", name)
		c := compressors[name](w)
		for _, step := range s {
			time.Sleep(step.after)
			_, _ = io.WriteString(c, step.send)
			_ = c.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		_ = c.Close()
	}
}

// TestCompressedStreams holds that each frame of a compressed answer has the arrival of the read that completed it, as
// it would have without compression, and that a warning says so. Half of the frames come two in a step: they are one
// arrival each.
func TestCompressedStreams(t *testing.T) {
	answer := after(7*ms, role).then(5*ms, counted(1)).then(3*ms, counted(2), counted(3)).then(20*ms, counted(4)).
		then(ms, counted(5), counted(6)).then(2*ms, limit, usage(80, 6), done)
	arrivals := func(r *Result) []time.Duration {
		var at []time.Duration
		for _, a := range r.Timeline.Frames {
			at = append(at, a.At)
		}
		return at
	}
	for name := range compressors {
		for _, version2 := range []bool{false, true} {
			inBubble(t, name, func(t *testing.T) {
				target, _ := serveCounting(t, answer.compressed(name), Route{HTTP2: version2})
				r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 6})
				endsAs(t, r, OK, "")
				equal(t, "arrivals", []time.Duration{12 * ms, 15 * ms, 15 * ms, 35 * ms, 36 * ms, 36 * ms}, arrivals(r))
				equal(t, "finish", 38*ms, r.Timeline.FinishedAt)
				if len(r.Warnings) == 0 || r.Warnings[0].Kind != WarnCompressed {
					t.Errorf("warnings: %v", r.Warnings)
				}
			})
		}
	}
}

// TestContentEncodings holds what becomes of an answer, by what its header names and how its body begins.
func TestContentEncodings(t *testing.T) {
	plain := data(counted(1), counted(2), limit, done)
	bomb := compress("gzip", strings.Repeat(":"+strings.Repeat("x", 1<<20)+"\n", 65)) // MiB of comments
	for name, test := range map[string]struct {
		header, body string
		want         Outcome
		says         string
	}{
		"none":                       {"none", plain, OK, ""},
		"nothing":                    {"", plain, OK, ""},
		"identity":                   {"Identity", plain, OK, ""},
		"a character set":            {"utf-8", plain, OK, ""},
		"several words":              {"none, identity", plain, OK, ""},
		"an unknown word":            {"chunked", plain, OK, ""},
		"an empty body":              {"none", "", Empty, ""},
		"gzip under another word":    {"none", compress("gzip", plain), OK, ""},
		"zstd under another word":    {"gzip", compress("zstd", plain), OK, ""},
		"text, said to be gzip":      {"gzip", plain, Malformed, "says gzip"},
		"text, said to be deflate":   {"deflate", plain, Malformed, "says deflate"},
		"text, said to be br":        {"br", plain, Malformed, "compressed (br)"},
		"bytes of an unknown coding": {"snappy", "\xff\x06\x00\x00sNaPpY", Malformed, "unknown content coding snappy"},
		"compressed twice":           {"gzip, br", compress("br", compress("gzip", plain)), Malformed, "gzip, br"},
		"broken":                     {"gzip", "\x1f\x8b\x08\x00broken and not to be read", Malformed, "compressed (gzip)"},
		"cut":                        {"gzip", compress("gzip", plain)[:60], Truncated, "unexpected EOF"},
		"a bomb":                     {"gzip", bomb, Malformed, "more than 64 MiB"},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Encoding"] = []string{test.header}
				answers(200, "text/event-stream", test.body)(w, r)
			})
			r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 2})
			endsAs(t, r, test.want, test.says)
			if test.want == Malformed && r.Reason != ReasonUnreadableCompression {
				t.Errorf("%v: not because of its coding", r.Err)
			}
		})
	}
}

// TestCompressedReplies holds that errors and lists of models are read although they are compressed, and that nothing
// grows beyond its limit.
func TestCompressedReplies(t *testing.T) {
	const models = `{"object":"list","data":[{"id":"llama","max_model_len":150}]}`
	const tooLong = `{"error":{"message":"This model's maximum context length is 150 tokens. However, you requested 208 ` +
		`tokens.","code":400}}`
	encodings := map[string]func(string) string{
		"none": func(s string) string { return s }, "": func(s string) string { return s },
		"gzip, br": func(s string) string { return compress("br", compress("gzip", s)) },
	}
	for name := range compressors {
		encodings[name] = func(s string) string { return compress(name, s) }
	}
	for name, encode := range encodings {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Encoding"] = []string{name}
				if r.Method == http.MethodGet {
					reply(200, encode(models))(w, r)
				} else {
					reply(400, encode(tooLong))(w, r)
				}
			})
			found, list, err := target.identify(t.Context(), "", "")
			if err != nil || len(list) != 1 || found.Model != "llama" || found.Limits.Context != 150 {
				t.Errorf("found %+v, %v", found, err)
			}
			r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 2})
			endsAs(t, r, Rejected, "maximum context length is 150 tokens")
			if r.Reason != ReasonLongerThanContext {
				t.Errorf("%v: not too long", r.Err)
			}
		})
		if strings.Contains(name, ",") { // what may be a stream is not inflated twice
			continue
		}
		inBubble(t, name+", with status 200", func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Encoding"] = []string{name}
				reply(200, encode(tooLong))(w, r)
			})
			r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 2})
			endsAs(t, r, Rejected, "maximum context length is 150 tokens")
		})
	}
	for name := range compressors {
		resp := &http.Response{
			Header: http.Header{"Content-Encoding": {name}},
			Body:   io.NopCloser(strings.NewReader(compress(name, strings.Repeat("x", 1<<20)))),
		}
		body, err := readBody(resp, 1<<16)
		if len(body) != 1<<16 || err != nil || strings.Trim(string(body), "x") != "" {
			t.Errorf("%s: %d bytes of a bomb, %v", name, len(body), err)
		}
	}
	resp := &http.Response{
		Header: http.Header{"Content-Encoding": {"snappy"}}, Body: io.NopCloser(strings.NewReader("\xff\x06\x00\x00sNaPpY")),
	}
	body, err := readBody(resp, 1<<16)
	equal(t, "what nobody can read", "10 bytes: the answer has the unknown content coding snappy", string(body))
	equal(t, "error", nil, err)
}

// TestAModelListUnderTheTypeOfAStream holds that a list with a length is read, whatever its type says.
func TestAModelListUnderTheTypeOfAStream(t *testing.T) {
	for _, kind := range []string{typeSSE, typeNDJSON} {
		inBubble(t, kind, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				io.WriteString(w, `{"data":[{"id":"llama"}]}`)
			})
			found, _, err := target.identify(t.Context(), "", "")
			equal(t, "error", nil, err)
			equal(t, "model", "llama", found.Model)
		})
	}
}
