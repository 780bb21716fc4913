package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/wire"
)

// streamsOfServers is where the streams are.
const streamsOfServers = "../wire/testdata/"

// A fixture is what a stream of wire's testdata must decode to: see README.md there.
type fixture struct {
	Dialect   string `json:"dialect"`
	Framing   string `json:"framing"`
	Frames    int    `json:"frames"`
	First     int    `json:"first"`
	Tokens    int    `json:"tokens"`
	N         *int   `json:"n,omitempty"`
	Prompt    *int   `json:"prompt,omitempty"`
	Cached    *int   `json:"cached,omitempty"`
	Reasoning *int   `json:"reasoning,omitempty"`
	Finish    string `json:"finish"`
	Error     string `json:"error"`
}

// TestFixtures reads every stream that was written from a server's grammar as a probe does: whole, byte by byte, and
// cut at every position.
func TestFixtures(t *testing.T) {
	for _, path := range must(filepath.Glob(streamsOfServers + "*/*.want")) {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), streamsOfServers), ".want")
		want := readFixture(t, path)
		t.Run(name, func(t *testing.T) {
			body := must(os.ReadFile(strings.TrimSuffix(path, ".want") + ".txt"))
			equal(t, "whole", want, decode(t, want, bytes.NewReader(body)))
			equal(t, "byte by byte", want, decode(t, want, iotest.OneByteReader(bytes.NewReader(body))))
			whole := framesOf(want.Framing, bytes.NewReader(body))
			for at := 1; at < len(body); at++ {
				cut := framesOf(want.Framing, io.MultiReader(bytes.NewReader(body[:at]), bytes.NewReader(body[at:])))
				if !slices.Equal(whole, cut) {
					t.Fatalf("cut at byte %d of %q (-whole +cut):\n%s", at, body, gocmp.Diff(whole, cut))
				}
			}
		})
	}
}

// writeMissingFixtures writes down what streams decode to, if nobody has: read it before you commit it.
func writeMissingFixtures(t *testing.T) {
	t.Helper()
	for _, path := range must(filepath.Glob(streamsOfServers + "*/*.txt")) {
		wanted := strings.TrimSuffix(path, ".txt") + ".want"
		_, err := os.Stat(wanted)
		isStream := !slices.Contains([]string{"frames.txt", "rejections.txt"}, filepath.Base(path))
		if err == nil || !isStream {
			continue
		}
		body := must(os.ReadFile(path))
		folder := filepath.Base(filepath.Dir(path))
		dialect, err := wire.Lookup(folder)
		if err != nil {
			dialect = cmp.Or(must(wire.LookupServer(folder)).Dialect, assumedDialect)
		}
		found := fixture{Dialect: dialect.Name, Framing: "sse"}
		if bytes.HasPrefix(body, []byte("{")) {
			found.Framing = "ndjson"
		}
		golden.Equal(t, wanted, string(must(json.Marshal(decode(t, found, bytes.NewReader(body)))))+"\n")
	}
}

// readFixture reads what a stream must decode to.
func readFixture(t *testing.T, path string) (want fixture) {
	t.Helper()
	file := json.NewDecoder(bytes.NewReader(must(os.ReadFile(path))))
	file.DisallowUnknownFields()
	if err := file.Decode(&want); err != nil {
		t.Fatal(err)
	}
	return want
}

// framesIn reads a body whose arrivals do not matter.
func framesIn(framing string, body io.Reader) *stream.Frames {
	read := stream.NewSSE
	if framing == "ndjson" {
		read = stream.NewLines
	}
	return read(body, func(int64) stream.Arrival { return stream.Arrival{} }, 4096)
}

// decode reads the body of a fixture as a probe does. The answer is not judged by its length.
func decode(t *testing.T, of fixture, body io.Reader) fixture {
	t.Helper()
	r := &Result{}
	x := exchange{
		result: r, answer: newAnswer(r, Question{}), target: Target{Dialect: must(wire.Lookup(of.Dialect))},
		stall: newStallTimer(time.Hour, func() {}), trace: &trace{},
	}
	got := fixture{Dialect: of.Dialect, Framing: of.Framing, First: -1}
	x.frames = framesIn(of.Framing, body)
	next := func() (stream.Frame, error) {
		if got.First < 0 && len(r.Timeline.Frames) > 0 {
			got.First = got.Frames - 1
		}
		frame, err := x.frames.Next()
		if err == nil {
			got.Frames++
		}
		return frame, err
	}
	x.read(t.Context(), next, strings.NewReader(""))
	for _, err := next(); err == nil; { // what comes after the protocol's end
		_, err = next()
	}
	got.Tokens, got.Finish = len(r.Timeline.Frames), r.Finish
	got.N, got.Prompt = known(r.Usage.Generated()), known(x.answer.total().Prompt)
	got.Cached, got.Reasoning = known(r.Usage.Cached), known(r.Usage.Reasoning)
	if x.answer.serverErr != nil {
		got.Error = x.answer.serverErr.Error()
	}
	return got
}

// framesOf returns the data of every frame, and the error at the end.
func framesOf(framing string, body io.Reader) (list []string) {
	frames := framesIn(framing, body)
	for {
		frame, err := frames.Next()
		if err != nil {
			return append(list, err.Error())
		}
		list = append(list, string(frame.Data))
	}
}
