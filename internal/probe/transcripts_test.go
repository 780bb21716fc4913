package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// transcript is what a recorded stream must decode to. It comes with the
// recording, from a reader that is independent of this code.
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
	Failed      bool
	Done        bool
}

// quirks are the transcripts whose expected values follow another rule than
// DESIGN §1, and what they are by that rule.
var quirks = map[string]struct {
	first, frames int
	why           string
}{
	"empty_string_token_counts_with_usage": {1, 2, "an empty frame whose usage grew is a token frame"},
	"same_chunk_reasoning_and_content":     {0, 2, "a frame with reasoning and content is one frame"},
}

// transcripts returns the folder of recorded streams: the one that
// PROBER_TRANSCRIPTS names, or one called transcripts in a folder beside the
// repository. It is no part of the repository.
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
	metas, err := filepath.Glob(filepath.Join(transcripts(t), "*.meta"))
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, meta := range metas {
		name := strings.TrimSuffix(filepath.Base(meta), ".meta")
		want := readMeta(t, meta)
		dialect, err := wire.Lookup(want.Protocol)
		if err != nil {
			continue // another dialect's
		}
		tested++
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(strings.TrimSuffix(meta, ".meta") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			whole := decode(t, dialect, bytes.NewReader(body))
			checkTranscript(t, name, want, whole)
			checkCuts(t, dialect, body, whole)
		})
	}
	t.Logf("%d transcripts of %d", tested, len(metas))
	if tested < 40 {
		t.Errorf("%d transcripts tested, want at least 40", tested)
	}
}

// readMeta reads the JSON below the comment lines of a .meta file.
func readMeta(t *testing.T, path string) transcript {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for bytes.HasPrefix(data, []byte("#")) {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	var meta transcript
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	return meta
}

// decode reads a body as a probe does.
func decode(t *testing.T, dialect wire.Dialect, body io.Reader) decoded {
	t.Helper()
	start := time.Time{}
	f, d := &fold{start: start}, decoded{First: -1}
	frames := stream.NewSSE(body, func() stream.Stamp { return stream.Stamp{At: start} }, 64)
	for {
		frame, err := frames.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("after %d frames: %v", d.Frames, err)
			}
			break
		}
		delta, err := dialect.Decode(frame.Data)
		if err != nil {
			t.Errorf("frame %d: %v", d.Frames, err)
		}
		d.Done = d.Done || delta.Done
		if f.add(frame.Stamp, delta) && d.First < 0 {
			d.First = d.Frames
		}
		d.Frames++
	}
	d.TokenFrames, d.Finish, d.Usage = len(f.tokens), f.finish, f.usage
	d.Failed = f.err != nil
	return d
}

func checkTranscript(t *testing.T, name string, want transcript, got decoded) {
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
	if got.Failed != (string(want.Error) != "null") {
		t.Errorf("error seen: %t; want %s", got.Failed, want.Error)
	}
	if want.Finish != nil && got.Finish != *want.Finish && *want.Finish != "end(generated_text)" {
		t.Errorf("finish reason %q, want %q", got.Finish, *want.Finish)
	}
	checkUsage(t, want.Usage, got.Usage)
}

// checkUsage compares with the last usage of the recording: merged counts are
// never below it.
func checkUsage(t *testing.T, last json.RawMessage, got wire.Usage) {
	t.Helper()
	var want struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
		Details    *struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if err := json.Unmarshal(last, &want); err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string]struct {
		want *int
		got  wire.Count
	}{"prompt": {want.Prompt, got.Prompt}, "output": {want.Completion, got.Output}} {
		if pair.want != nil && pair.got != wire.Tokens(*pair.want) {
			t.Errorf("%s tokens %+v, want %d", name, pair.got, *pair.want)
		}
	}
	if d := want.Details; d != nil && d.Cached != nil && got.Cached.N < *d.Cached {
		t.Errorf("cached tokens %+v, want at least %d", got.Cached, *d.Cached)
	}
}

// checkCuts decodes the body byte by byte, and cuts it in two at every position.
func checkCuts(t *testing.T, dialect wire.Dialect, body []byte, want decoded) {
	t.Helper()
	if diff := cmp.Diff(want, decode(t, dialect, iotest.OneByteReader(bytes.NewReader(body)))); diff != "" {
		t.Errorf("byte by byte (-whole +cut):\n%s", diff)
	}
	for _, window := range windows(body) {
		whole := framesOf(bytes.NewReader(window))
		for cut := 1; cut < len(window); cut++ {
			got := framesOf(io.MultiReader(bytes.NewReader(window[:cut]), bytes.NewReader(window[cut:])))
			if !slices.Equal(whole, got) {
				t.Fatalf("cut at byte %d of %q (-whole +cut):\n%s", cut, window, cmp.Diff(whole, got))
			}
		}
	}
}

// windows returns parts of a body that together hold every position of it with
// the events around: the whole of a short body, else each two events in a row,
// since nothing of an event outlives its blank line.
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
func framesOf(body io.Reader) []string {
	var list []string
	frames := stream.NewSSE(body, func() stream.Stamp { return stream.Stamp{} }, 4096)
	for {
		frame, err := frames.Next()
		if err != nil {
			return append(list, err.Error())
		}
		list = append(list, string(frame.Data))
	}
}
