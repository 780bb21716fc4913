package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"testing"
)

// FuzzDecode holds for each dialect that no frame panics, that errors wrap ErrMalformed alone and come with nothing
// else, that a frame is only read, that its texts are no longer than it, and that its counts are believable.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`[{"error":{"message":"m"}}]`, `{"error":null}`, "[DONE]", `{"type":"error"}`} {
		f.Add(uint8(0), []byte(seed))
	}
	for _, path := range files(f, "*/*.txt") {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, frame := range regexp.MustCompile(`(?m)[{\[].*$`).FindAll(body, -1) {
			for at := range dialects {
				f.Add(uint8(at), frame)
			}
		}
	}
	f.Fuzz(func(t *testing.T, at uint8, data []byte) {
		d := dialects[int(at)%len(dialects)]
		Describe(data, "")
		ParseWords(data)
		ParseErrorEvent(data)
		ParseModels(data)
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
	for _, c := range []Count{u.Prompt, u.Cached, u.Written, u.Output, u.Reasoning, u.Total} {
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
