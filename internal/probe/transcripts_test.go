package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

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
	FirstToken *int            `json:"first_token_event_index"`
	Finish     *string         `json:"finish_reason"`
	Usage      json.RawMessage `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Terminal   bool            `json:"saw_terminal"`
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

// quirks are the transcripts whose expected values follow another rule than DESIGN §1, and what they are by that
// rule.
var quirks = map[string]struct {
	first, frames int
	why           string
}{
	"empty_string_token_counts_with_usage": {1, 2, "an empty frame whose usage grew is a token frame"},
	"same_chunk_reasoning_and_content":     {0, 2, "a frame with reasoning and content is one frame"},
}

// transcripts returns the folder of recorded streams: the one that PROBER_TRANSCRIPTS names, or one called
// transcripts in a folder beside the repository. It is no part of the repository.
func transcripts(t testing.TB) string {
	if dir := os.Getenv("PROBER_TRANSCRIPTS"); dir != "" {
		return dir
	}
	found, _ := filepath.Glob("../../../*/transcripts/*.meta")
	if len(found) == 0 {
		t.Skip("no recorded streams here: PROBER_TRANSCRIPTS names their folder")
	}
	return filepath.Dir(found[0])
}

func TestTranscripts(t *testing.T) {
	metas := must(filepath.Glob(filepath.Join(transcripts(t), "*.meta")))
	agreeing, framed := 0, 0
	for _, meta := range metas {
		name := strings.TrimSuffix(filepath.Base(meta), ".meta")
		want := readMeta(t, meta)
		dialect, err := wire.Lookup(cmp.Or(spoken[want.Protocol], want.Protocol))
		agrees := t.Run(name, func(t *testing.T) {
			body := must(os.ReadFile(strings.TrimSuffix(meta, ".meta") + ".txt"))
			if dialect == nil {
				if got := len(framesOf(sse, bytes.NewReader(body))) - 1; got != want.Events {
					t.Errorf("%d events, want %d", got, want.Events)
				}
				checkFraming(t, sse, body)
				return
			}
			whole := decode(t, dialect, bytes.NewReader(body))
			checkTranscript(t, name, want, whole, refuses(body))
			checkCuts(t, dialect, body, whole)
		})
		switch {
		case agrees && err != nil:
			framed++
		case agrees:
			agreeing++
		}
	}
	t.Logf("%d transcripts: %d agree in all, %d of protocols that no dialect speaks agree in their events", len(metas), agreeing, framed)
}

// readMeta reads the JSON below the comment lines of a .meta file.
func readMeta(t *testing.T, path string) transcript {
	t.Helper()
	data := must(os.ReadFile(path))
	for bytes.HasPrefix(data, []byte("#")) {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	var meta transcript
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	return meta
}

// A framing cuts a body into frames.
type framing func(io.Reader) func() (stream.Frame, error)

func sse(body io.Reader) func() (stream.Frame, error) {
	return stream.NewSSE(body, func(int64) stream.Stamp { return stream.Stamp{} }, 4096).Next
}

func ndjson(body io.Reader) func() (stream.Frame, error) {
	return stream.NewLines(body, func(int64) stream.Stamp { return stream.Stamp{} }, 4096).Next
}

func framingOf(d *wire.Dialect) framing {
	if d.Name == "ollama" {
		return ndjson
	}
	return sse
}

// decode reads a body as a probe does. The answer is not judged by its length.
func decode(t *testing.T, dialect *wire.Dialect, body io.Reader) decoded {
	t.Helper()
	f, d := newAccumulator(&Result{}, 0, false), decoded{First: -1}
	x := exchange{target: Target{Dialect: dialect}, acc: f, ask: wire.Ask{MaxTokens: 1}}
	next := framingOf(dialect)(body)
	for {
		frame, err := next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("after %d frames: %v", d.Frames, err)
			}
			break
		}
		delta, err := x.decode(frame)
		if err != nil {
			t.Errorf("frame %d: %v", d.Frames, err)
		}
		if f.add(frame.Stamp, delta) && d.First < 0 {
			d.First = d.Frames
		}
		d.Frames++
	}
	d.TokenFrames, d.Finish, d.Usage = len(f.Tokens), f.Finish, f.Usage
	if d.Outcome = x.complete().outcome; f.err != nil {
		d.Error = f.err.Error()
	}
	return d
}

func checkTranscript(t *testing.T, name string, want transcript, got decoded, refuses bool) {
	t.Helper()
	first, frames := -1, want.Content+want.Reasoning+want.Tools
	if want.FirstToken != nil {
		first = *want.FirstToken
	}
	if q, ok := quirks[name]; ok {
		first, frames = q.first, q.frames
	}
	if got.Frames != want.Events {
		t.Errorf("%d events, want %d", got.Frames, want.Events)
	}
	if got.First != first || got.TokenFrames != frames {
		t.Errorf("first token in frame %d, %d token frames; want %d and %d", got.First, got.TokenFrames, first, frames)
	}
	if (got.Error != "") != (string(want.Error) != "null") {
		t.Errorf("error %q; want %s", got.Error, want.Error)
	}
	if want.Finish != nil && got.Finish != *want.Finish && *want.Finish != "end(generated_text)" {
		t.Errorf("finish reason %q, want %q", got.Finish, *want.Finish)
	}
	if outcome := want.outcome(frames, refuses); got.Outcome != outcome {
		t.Errorf("outcome %s, want %s", got.Outcome, outcome)
	}
	if !spliced[name] {
		checkUsage(t, want.Usage, got.Usage)
	}
}

// spliced are the transcripts of several answers in one file, or of counts that are taken back, whose usage is not
// the last but the larger: see decision 9.
var spliced = map[string]bool{
	"openai_responses_reasoning": true, "anthropic_stream-a-toolrefusal": true, "anthropic_messages_refusal_response": true,
}

// refuses reports whether a recording holds a refusal, of which its .meta says nothing.
func refuses(body []byte) bool {
	return regexp.MustCompile(`"refusal":\s*"[^"]`).Match(body)
}

// outcome is what DESIGN §1 makes of a recording with so many token frames.
func (want transcript) outcome(frames int, refuses bool) Outcome {
	finish := ""
	if want.Finish != nil {
		finish = *want.Finish
	}
	switch {
	case strings.Contains(string(want.Error), "overloaded"):
		return Overloaded
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

// checkUsage compares with the last usage of the recording: merged counts are never below it.
func checkUsage(t *testing.T, last json.RawMessage, got wire.Usage) {
	t.Helper()
	var want struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
		Input      *int `json:"input_tokens"`  // Anthropic, Responses
		Output     *int `json:"output_tokens"` // the same
		Read       int  `json:"cache_read_input_tokens"`
		Written    int  `json:"cache_creation_input_tokens"`
		Details    *struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if err := json.Unmarshal(last, &want); err != nil {
		t.Fatal(err)
	}
	if want.Input != nil {
		*want.Input += want.Read + want.Written
	}
	for name, pair := range map[string]struct {
		want *int
		got  wire.Count
	}{
		"prompt": {want.Prompt, got.Prompt}, "output": {want.Completion, got.Output},
		"input": {want.Input, got.Prompt}, "all output": {want.Output, got.Output},
	} {
		if pair.want != nil && pair.got != wire.Tokens(*pair.want) {
			t.Errorf("%s tokens %+v, want %d", name, pair.got, *pair.want)
		}
	}
	if d := want.Details; d != nil && d.Cached != nil && got.Cached.N < *d.Cached {
		t.Errorf("cached tokens %+v, want at least %d", got.Cached, *d.Cached)
	}
}

// checkCuts decodes the body byte by byte, and cuts it in two at every position.
func checkCuts(t *testing.T, dialect *wire.Dialect, body []byte, want decoded) {
	t.Helper()
	if diff := gocmp.Diff(want, decode(t, dialect, iotest.OneByteReader(bytes.NewReader(body)))); diff != "" {
		t.Errorf("byte by byte (-whole +cut):\n%s", diff)
	}
	checkFraming(t, framingOf(dialect), body)
}

// checkFraming cuts the body in two at every position: the frames are the same.
func checkFraming(t *testing.T, frames framing, body []byte) {
	t.Helper()
	for _, window := range windows(body) {
		whole := framesOf(frames, bytes.NewReader(window))
		for cut := 1; cut < len(window); cut++ {
			got := framesOf(frames, io.MultiReader(bytes.NewReader(window[:cut]), bytes.NewReader(window[cut:])))
			if !slices.Equal(whole, got) {
				t.Fatalf("cut at byte %d of %q (-whole +cut):\n%s", cut, window, gocmp.Diff(whole, got))
			}
		}
	}
}

// windows returns parts of a body that together hold every position of it with the events around: the whole of a
// short body, else each two events in a row, since nothing of an event outlives its blank line.
func windows(body []byte) [][]byte {
	const short = 4 << 10
	events := bytes.SplitAfter(body, []byte("\n\n"))
	if len(body) <= short || len(events) < 3 {
		return [][]byte{body}
	}
	var list [][]byte
	at := 0
	for i := range len(events) - 1 {
		list = append(list, body[at:at+len(events[i])+len(events[i+1])])
		at += len(events[i])
	}
	return list
}

// framesOf is the data of every frame, and the error at the end.
func framesOf(frames framing, body io.Reader) []string {
	var list []string
	next := frames(body)
	for {
		frame, err := next()
		if err != nil {
			return append(list, err.Error())
		}
		list = append(list, string(frame.Data))
	}
}
