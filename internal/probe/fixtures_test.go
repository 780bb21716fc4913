package probe

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// fixture is what a stream of wire's testdata must decode to: see README.md there.
type fixture struct {
	Dialect   string `json:"dialect"`
	Framing   string `json:"framing"`
	Frames    int    `json:"frames"`
	First     int    `json:"first"`
	Tokens    int    `json:"tokens"`
	N         *int   `json:"n"`
	Prompt    *int   `json:"prompt"`
	Cached    *int   `json:"cached"`
	Reasoning *int   `json:"reasoning"`
	Finish    string `json:"finish"`
	Error     string `json:"error"`
}

// TestFixtures reads every stream that was written from a server's grammar as a probe does: whole, byte by byte, and
// cut at every position.
func TestFixtures(t *testing.T) {
	const testdata = "../wire/testdata/"
	wants := must(filepath.Glob(testdata + "*/*.want"))
	if len(wants) == 0 {
		t.Fatal("no fixtures")
	}
	for _, path := range wants {
		t.Run(strings.TrimPrefix(path, testdata), func(t *testing.T) {
			var want fixture
			told := must(os.ReadFile(path))
			if err := json.Unmarshal(told, &want); err != nil {
				t.Fatal(err)
			}
			body := must(os.ReadFile(strings.TrimSuffix(path, ".want") + ".txt"))
			dialect := must(wire.Lookup(want.Dialect))
			whole := decode(t, dialect, bytes.NewReader(body))
			got := whole.fixture()
			want.Dialect, want.Framing, want.Error = "", "", ""
			equal(t, "decoded", want, got)
			if whole.Failed != strings.Contains(string(told), `"error":"s`) {
				t.Errorf("error seen: %t; %s", whole.Failed, told)
			}
			checkCuts(t, dialect, body, whole)
		})
	}
}

// fixture is the same in the words of the fixtures.
func (d decoded) fixture() fixture {
	return fixture{
		Frames: d.Frames, First: d.First, Tokens: d.TokenFrames, Finish: d.Finish,
		N: known(d.Usage.Generated()), Prompt: known(d.Usage.Prompt), Cached: known(d.Usage.Cached), Reasoning: known(d.Usage.Reasoning),
	}
}
