package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// transcript is what a recorded stream must decode to. It comes with the recording, from a reader that is independent
// of this code.
type transcript struct {
	Protocol   string          `json:"protocol"`
	Events     int             `json:"events"`
	Content    int             `json:"content_chunks"`
	Reasoning  int             `json:"reasoning_chunks"`
	Tools      int             `json:"toolcall_chunks"`
	FirstToken int             `json:"first_token_event_index"`
	Finish     string          `json:"finish_reason"`
	Error      json.RawMessage `json:"error"`
	Terminal   bool            `json:"saw_terminal"`
	Usage      struct {        // the last of the recording
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
		Total      *int `json:"total_tokens"`
		Input      *int `json:"input_tokens"`  // Anthropic, Responses
		Output     *int `json:"output_tokens"` // the same
		Read       int  `json:"cache_read_input_tokens"`
		Written    int  `json:"cache_creation_input_tokens"`
		Details    struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Generated struct {
			Reasoning *int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
}

// decoded is the same, as this code reads the stream.
type decoded struct {
	Frames      int
	First       int // index of the first token frame; -1 if there is none
	TokenFrames int
	Finish      string
	Usage       wire.Usage
	Error       string // the first; empty if there was none
	Outcome     Outcome
}

// spoken are the protocols of the recordings in the words of [wire.Lookup], where they differ. The others that Lookup
// does not know are spoken by no dialect: of these only the framing is tested.
var spoken = map[string]string{
	"ollama-ndjson": "ollama", "sglang-generate": "sglang", "triton-generate": "triton",
}

// quirks are the first token frame and the number of them where a transcript follows another rule than DESIGN §1.
var quirks = map[string][2]int{
	"empty_string_token_counts_with_usage": {1, 2}, // an empty frame whose usage grew is a token frame
	"same_chunk_reasoning_and_content":     {0, 2}, // a frame with reasoning and content is one frame
}

// finishes are the finish reasons of answers that have another sign of their end, or whose transcript names none.
var finishes = map[string]string{
	"ollama_chat_ndjson":                "done",
	"tgi_generate_stream_utf8_20tok":    "generated_text",
	"xai_error_finish_reason_midstream": "error",
}

// spliced are the counts in transcripts of several answers in one file, or of counts that are taken back: not the last,
// but the larger.
var spliced = map[string]wire.Usage{
	"openai_responses_reasoning": {
		Prompt: wire.Tokens(299), Cached: wire.Tokens(0), Output: wire.Tokens(28),
		Reasoning: wire.Tokens(0), Total: wire.Tokens(311),
	},
	"anthropic_stream-a-toolrefusal": {
		Prompt: wire.Tokens(612), Cached: wire.Tokens(0), Output: wire.Tokens(106), Reasoning: wire.Tokens(67),
	},
	"anthropic_messages_refusal_response": {Prompt: wire.Tokens(20), Output: wire.Tokens(1)},
}

// TestTranscripts reads recorded streams, which are no part of the repository: those of the folder that
// PROBER_TRANSCRIPTS names.
func TestTranscripts(t *testing.T) {
	folder := os.Getenv("PROBER_TRANSCRIPTS")
	if folder == "" {
		t.Skip("no recorded streams: PROBER_TRANSCRIPTS names their folder")
	}
	comments := regexp.MustCompile(`(?m)^#.*\n`)
	list := must(filepath.Glob(filepath.Join(folder, "*.meta")))
	if len(list) == 0 {
		t.Fatalf("no recordings (*.meta) in %s, which PROBER_TRANSCRIPTS names", folder)
	}
	for _, meta := range list {
		name := strings.TrimSuffix(filepath.Base(meta), ".meta")
		t.Run(name, func(t *testing.T) {
			want := transcript{FirstToken: -1}
			if err := json.Unmarshal(comments.ReplaceAll(must(os.ReadFile(meta)), nil), &want); err != nil {
				t.Fatal(err)
			}
			body := must(os.ReadFile(strings.TrimSuffix(meta, ".meta") + ".txt"))
			dialect, _ := wire.Lookup(cmp.Or(spoken[want.Protocol], want.Protocol))
			if dialect == nil {
				equal(t, "events", want.Events, len(framesOf(nil, bytes.NewReader(body)))-1)
				checkFraming(t, nil, body)
				return
			}
			whole := decodeInParts(t, dialect, body)
			equal(t, "decoded", want.decoded(t, name, whole, regexp.MustCompile(`"refusal":\s*"[^"]`).Match(body)), whole)
		})
	}
}

// decoded is what a recording must be read as. Of got it takes only counts of which the .meta says nothing. refuses:
// the recording holds a refusal, of which its .meta says nothing.
func (want transcript) decoded(t *testing.T, name string, got decoded, refuses bool) decoded {
	t.Helper()
	d := decoded{Frames: want.Events, First: want.FirstToken, TokenFrames: want.Content + want.Reasoning + want.Tools}
	if q, ok := quirks[name]; ok {
		d.First, d.TokenFrames = q[0], q[1]
	}
	d.Finish = want.Finish
	if finish, ok := finishes[name]; ok {
		d.Finish = finish
	}
	d.Error = want.errorIn(t, got.Error)
	d.Outcome = want.outcome(d.TokenFrames, refuses)
	d.Usage = want.usageOf(got.Usage)
	if usage, ok := spliced[name]; ok {
		d.Usage = usage
	}
	return d
}

// errorIn returns text if it says all that the recorded error does; else the message that it should have.
func (want transcript) errorIn(t *testing.T, text string) string {
	t.Helper()
	if string(want.Error) == "null" {
		return ""
	}
	var recorded struct{ Message string }
	if err := json.Unmarshal(want.Error, &recorded); err != nil || recorded.Message == "" {
		t.Fatalf("the recorded error %s has no message: %v", want.Error, err)
	}
	if strings.Contains(text, recorded.Message) {
		return text
	}
	return recorded.Message
}

// usageOf returns got with all counts that the recording's last usage has.
func (want transcript) usageOf(got wire.Usage) wire.Usage {
	usage := want.Usage
	if usage.Input != nil {
		*usage.Input += usage.Read + usage.Written
	}
	for count, recorded := range map[*wire.Count]*int{
		&got.Prompt:    cmp.Or(usage.Prompt, usage.Input),
		&got.Output:    cmp.Or(usage.Completion, usage.Output),
		&got.Cached:    usage.Details.Cached,
		&got.Reasoning: usage.Generated.Reasoning,
		&got.Total:     usage.Total,
	} {
		if recorded != nil {
			*count = wire.Tokens(*recorded)
		}
	}
	return got
}

// outcome is what DESIGN §1 makes of a recording with so many token frames.
func (want transcript) outcome(frames int, refuses bool) Outcome {
	finish := want.Finish
	switch {
	case strings.Contains(string(want.Error), "overloaded"):
		return Overloaded
	case strings.Contains(string(want.Error), "invalid_request_error"),
		strings.Contains(string(want.Error), "CONTEXT_LENGTH_EXCEEDED"): // the request was at fault, not the server
		return Rejected
	case string(want.Error) != "null", finish == "error", finish == "failed":
		return ServerError
	case refuses, finish == "content_filter", finish == "refusal":
		return Filtered
	case frames == 0:
		return Empty
	case finish == "" && want.Protocol != "triton-generate" && (want.Protocol != "ollama-ndjson" || !want.Terminal):
		return Truncated
	}
	return OK
}

// fixture is what a stream of wire's testdata must decode to: see README.md there.
type fixture struct {
	Dialect, Framing             string
	Frames, First, Tokens        int
	N, Prompt, Cached, Reasoning *int
	Finish, Error                string
}

// TestFixtures reads every stream that was written from a server's grammar as a probe does: whole, byte by byte, and
// cut at every position. Every dialect and every type of server has one.
func TestFixtures(t *testing.T) {
	const testdata = "../wire/testdata/"
	without := append(wire.Servers(), wire.APIs()...)
	for _, path := range must(filepath.Glob(testdata + "*/*.want")) {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), testdata), ".want")
		t.Run(name, func(t *testing.T) {
			var want fixture
			told := json.NewDecoder(bytes.NewReader(must(os.ReadFile(path))))
			told.DisallowUnknownFields()
			if err := told.Decode(&want); err != nil {
				t.Fatal(err)
			}
			body := must(os.ReadFile(strings.TrimSuffix(path, ".want") + ".txt"))
			dialect := must(wire.Lookup(want.Dialect))
			whole := decodeInParts(t, dialect, body)
			equal(t, "decoded", want, fixture{
				Dialect: dialect.Name, Framing: want.Framing, Error: whole.Error,
				Frames: whole.Frames, First: whole.First, Tokens: whole.TokenFrames, Finish: whole.Finish,
				N:      known(whole.Usage.Generated()),
				Prompt: known(whole.Usage.Prompt), Cached: known(whole.Usage.Cached), Reasoning: known(whole.Usage.Reasoning),
			})
			folder, _, _ := strings.Cut(name, "/")
			without = slices.DeleteFunc(without, func(name string) bool { return name == folder || name == dialect.Name })
		})
	}
	if len(without) > 0 {
		t.Errorf("no fixture of %q", without)
	}
}

// framesIn reads a body whose arrivals do not matter; without a dialect as events.
func framesIn(d *wire.Dialect, body io.Reader) *stream.Frames {
	read := stream.NewSSE
	if d != nil && d.Name == "ollama" {
		read = stream.NewLines
	}
	return read(body, func(int64) stream.Timestamp { return stream.Timestamp{} }, 4096)
}

// decode reads a body as a probe does. The answer is not judged by its length.
func decode(t *testing.T, dialect *wire.Dialect, body io.Reader) decoded {
	t.Helper()
	r, d := &Result{}, decoded{First: -1}
	x := exchange{
		result: r, answer: newAnswer(r, Question{}), target: Target{Dialect: dialect},
		stall: newStallTimer(time.Hour, func() {}), trace: &trace{},
	}
	frames := framesIn(dialect, body)
	v := x.read(t.Context(), func() (stream.Frame, error) {
		if d.First < 0 && len(r.Tokens) > 0 {
			d.First = d.Frames - 1
		}
		frame, err := frames.Next()
		if err == nil {
			d.Frames++
		}
		return frame, err
	})
	d.TokenFrames, d.Finish, d.Usage, d.Outcome = len(r.Tokens), r.Finish, r.Usage, v.outcome
	if x.answer.serverErr != nil {
		d.Error = x.answer.serverErr.Error()
	}
	return d
}

// decodeInParts decodes the body whole, and checks that it is the same byte by byte, and cut in two at every position.
func decodeInParts(t *testing.T, dialect *wire.Dialect, body []byte) decoded {
	t.Helper()
	whole := decode(t, dialect, bytes.NewReader(body))
	equal(t, "byte by byte", whole, decode(t, dialect, iotest.OneByteReader(bytes.NewReader(body))))
	checkFraming(t, dialect, body)
	return whole
}

// checkFraming cuts the body in two at every position: the frames are the same.
func checkFraming(t *testing.T, d *wire.Dialect, body []byte) {
	t.Helper()
	for _, window := range windows(body) {
		whole := framesOf(d, bytes.NewReader(window))
		for cut := 1; cut < len(window); cut++ {
			got := framesOf(d, io.MultiReader(bytes.NewReader(window[:cut]), bytes.NewReader(window[cut:])))
			if !slices.Equal(whole, got) {
				t.Fatalf("cut at byte %d of %q (-whole +cut):\n%s", cut, window, gocmp.Diff(whole, got))
			}
		}
	}
}

// windows returns parts of a body that together hold every position of it with the events around: the whole of a
// short body, else each two events in a row, since nothing of an event outlives its blank line.
func windows(body []byte) (list [][]byte) {
	const short = 4 << 10
	events := bytes.SplitAfter(body, []byte("\n\n"))
	if len(body) <= short || len(events) < 3 {
		return [][]byte{body}
	}
	for i := range len(events) - 1 {
		list = append(list, slices.Concat(events[i], events[i+1]))
	}
	return list
}

// framesOf is the data of every frame, and the error at the end.
func framesOf(d *wire.Dialect, body io.Reader) (list []string) {
	for frames := framesIn(d, body); ; {
		frame, err := frames.Next()
		if err != nil {
			return append(list, err.Error())
		}
		list = append(list, string(frame.Data))
	}
}
