package probe

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

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
			whole := decode(t, dialect, bytes.NewReader(body))
			equal(t, "decoded", want, fixture{
				Dialect: dialect.Name, Framing: want.Framing, Error: whole.Error,
				Frames: whole.Frames, First: whole.First, Tokens: whole.TokenFrames, Finish: whole.Finish, N: known(whole.Usage.Generated()),
				Prompt: known(whole.Usage.Prompt), Cached: known(whole.Usage.Cached), Reasoning: known(whole.Usage.Reasoning),
			})
			checkCuts(t, dialect, body, whole)
			folder, _, _ := strings.Cut(name, "/")
			without = slices.DeleteFunc(without, func(name string) bool { return name == folder || name == dialect.Name })
		})
	}
	if len(without) > 0 {
		t.Errorf("no fixture of %q", without)
	}
}
