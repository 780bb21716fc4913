package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/stream"
)

// An expectation is what a fixture's answer says: see testdata/README.md.
type expectation struct {
	Dialect   string
	Framing   string
	Frames    int
	First     int
	Tokens    int
	N         *int
	Prompt    *int
	Cached    *int
	Reasoning *int
	Finish    string
	Error     string
}

// A fixture is an answer's frames and what they say.
type fixture struct {
	name   string // folder and case
	want   expectation
	frames []stream.Frame
}

// fixtures reads all of testdata.
func fixtures(tb testing.TB) []fixture {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(paths) == 0 {
		tb.Fatal("no fixtures: ", err)
	}
	var list []fixture
	for _, path := range paths {
		path = filepath.ToSlash(path)
		f := fixture{name: strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txt")}
		want := json.NewDecoder(bytes.NewReader(read(tb, strings.TrimSuffix(path, ".txt")+".want")))
		want.DisallowUnknownFields()
		if err := want.Decode(&f.want); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		cut := stream.NewSSE
		if f.want.Framing == "ndjson" {
			cut = stream.NewLines
		}
		body := cut(bytes.NewReader(read(tb, path)), func(int64) stream.Stamp { return stream.Stamp{} }, 4096)
		for frame, err := body.Next(); err == nil; frame, err = body.Next() {
			frame.Data = bytes.Clone(frame.Data)
			f.frames = append(f.frames, frame)
		}
		list = append(list, f)
	}
	return list
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestFixtures decodes each frame without its neighbours. What the whole streams say is tested
// where they are put together, in internal/probe.
func TestFixtures(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			d, err := Lookup(f.want.Dialect)
			if err != nil {
				t.Fatal(err)
			}
			var first *ServerError
			finish := ""
			for i, frame := range f.frames {
				delta, err := d.Decode(frame.Data)
				switch {
				case frame.Event == "error" && delta.Err == nil:
					delta.Err = &ServerError{Type: "error", Message: Describe(frame.Data)}
				case err != nil:
					t.Errorf("frame %d: %v", i, err)
				}
				first, finish = cmp.Or(first, delta.Err), cmp.Or(delta.Finish, finish)
			}
			if first == nil && f.want.Error != "" || first != nil && first.Error() != f.want.Error {
				t.Errorf("error %v, want %q", first, f.want.Error)
			}
			if len(f.frames) != f.want.Frames || finish != f.want.Finish {
				t.Errorf("%d frames, finish reason %q; want %d, %q", len(f.frames), finish, f.want.Frames, f.want.Finish)
			}
		})
	}
}

// TestFixturesAreComplete holds that each dialect and each server type has a
// fixture, and that each folder is one of theirs.
func TestFixturesAreComplete(t *testing.T) {
	known := Servers()
	for _, d := range dialects {
		known = append(known, d.Name)
	}
	var seen []string
	for _, f := range fixtures(t) {
		seen = append(seen, f.want.Dialect, strings.Split(f.name, "/")[0])
	}
	for _, name := range known {
		if !slices.Contains(seen, name) {
			t.Errorf("no fixture of %s", name)
		}
	}
	for _, name := range seen {
		if !slices.Contains(known, name) {
			t.Errorf("fixtures of %s, which are not known", name)
		}
	}
}

// FuzzDecode holds for each dialect that no frame panics, that errors wrap ErrMalformed alone and come with nothing
// else, that a frame is only read, that its texts are no longer than it, and that its counts are believable.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`[{"error":{"message":"m"}}]`, `{"error":null}`, "[DONE]", `{"type":"error"}`} {
		f.Add(uint8(0), []byte(seed))
	}
	for _, fix := range fixtures(f) {
		at := slices.IndexFunc(dialects, func(d *Dialect) bool { return d.Name == fix.want.Dialect })
		for _, frame := range fix.frames {
			f.Add(uint8(at), frame.Data)
		}
	}
	f.Fuzz(func(t *testing.T, at uint8, data []byte) {
		d := dialects[int(at)%len(dialects)]
		Describe(data)
		Rejected(d, data, nil)
		before := bytes.Clone(data)
		delta, err := d.Decode(data)
		if !bytes.Equal(before, data) {
			t.Errorf("%s wrote into the frame: %q", d.Name, data)
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) || json.Valid(data) && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
				t.Errorf("%s: error %v of %q", d.Name, err, data)
			}
			if !reflect.DeepEqual(delta, Delta{}) {
				t.Errorf("%s: an error and a delta of %q: %+v", d.Name, data, delta)
			}
			return
		}
		checkDelta(t, d, data, delta)
	})
}

// checkDelta holds that what a frame says is within the frame.
func checkDelta(t *testing.T, d *Dialect, data []byte, delta Delta) {
	t.Helper()
	longest := len(data)
	if bytes.ContainsRune(data, '\\') {
		longest *= 3 // what is no UTF-8 becomes U+FFFD where a text is unquoted
	}
	if n := len(delta.Text) + len(delta.Reasoning); n > longest {
		t.Errorf("%s: %d bytes of text in %q", d.Name, n, data)
	}
	if n := delta.Tokens; n < 0 || n > maxCount {
		t.Errorf("%s: %d tokens in %q", d.Name, n, data)
	}
	u := delta.Usage
	for _, c := range []Count{u.Prompt, u.Cached, u.Output, u.Reasoning, u.Total} {
		if c.N < 0 || c.N > maxCount || !c.Known && c.N != 0 {
			t.Errorf("%s: count %+v in %q", d.Name, c, data)
		}
	}
	if len(delta.Finish) > 40 {
		t.Errorf("%s: finish reason %q", d.Name, delta.Finish)
	}
	if (delta.Choice || len(delta.Text) > 0 || delta.Tokens > 0) && !json.Valid(data) {
		t.Errorf("%s took a choice or tokens from %q", d.Name, data)
	}
}
