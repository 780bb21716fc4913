package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/testing/golden"
)

// checkCases holds the package to a file of cases. A line of a case that begins with < is what a server sent, and the
// line after it, which begins with >, what judge says of that. All other lines are the names of the cases.
func checkCases(t *testing.T, path string, judge func(sent string) string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, ">") {
			continue
		}
		got.WriteString(line)
		sent, isSent := strings.CutPrefix(line, "<")
		if isSent {
			fmt.Fprintf(&got, "> %s\n", judge(strings.TrimPrefix(strings.TrimSuffix(sent, "\n"), " ")))
		}
	}
	golden.Equal(t, path, got.String())
}

// words are what is said of a case.
type words []string

// add adds a part if it holds.
func (l *words) add(holds bool, format string, args ...any) {
	if holds {
		*l = append(*l, fmt.Sprintf(format, args...))
	}
}

// String returns all parts.
func (l *words) String() string {
	if len(*l) == 0 {
		return "nothing"
	}
	return strings.Join(*l, ", ")
}

// addError adds the parts of an error.
func (l *words) addError(e *ServerError) {
	if e == nil {
		return
	}
	l.add(true, "an error")
	l.add(e.Type != "", "type %s", e.Type)
	l.add(e.Code != "", "code %s", e.Code)
	l.add(e.Message != "", "message %q", e.Message)
}

// files returns the paths of testdata that match a pattern; there must be some.
func files(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/" + pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file is called testdata/%s: %v", pattern, err)
	}
	return paths
}
