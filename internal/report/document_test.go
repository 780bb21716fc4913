package report

import (
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// document has all that may be unknown, infinite or hostile.
func document() Document {
	wide := stored(0.5)
	wide.Target, wide.TTFT.Quantiles[4].High = `pipe|"comma", <b>`, Number(math.Inf(1))
	failed := Summarize([]Sample{failure("gateway", 0, probe.Connect)})
	failed.Load, failed.AtOnce = "1 at once", 1
	untold := stored(0.02)
	untold.Output, untold.Warnings = 0, []string{"a\x1b[31m warning\nof two lines"}
	first := step32()
	first.Requests = first.Requests[:2]
	return Document{
		Source: "prober bench", Started: noon(), Summaries: []Summary{first, failed, untold, wide},
		Comparisons: []Comparison{comparison("vllm_a", "ray-serve", 10), comparison("vllm_a", "ray-serve", 5), Compare(Comparison{A: "x", B: "y", Pair: "round"}, nil)},
		Warnings:    []string{"the clock of this machine was set back"},
	}
}

func written(t *testing.T, write func(io.Writer, Document) error, d Document) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDocuments(t *testing.T) {
	golden(t, "document.json", written(t, WriteJSON, document()))
	golden(t, "document.md", written(t, WriteMarkdown, document()))
}

func TestEmptyDocuments(t *testing.T) {
	want := "{\n  \"schema\": 1,\n  \"source\": \"\",\n  \"version\": \"\",\n  \"settings\": {},\n  \"summaries\": [],\n  \"comparisons\": [],\n  \"warnings\": []\n}\n"
	if diff := cmp.Diff(want, written(t, WriteJSON, Document{})); diff != "" {
		t.Error(diff)
	}
	if got := written(t, WriteMarkdown, Document{}); got != "" {
		t.Errorf("%q", got)
	}
}

func TestJSONHasOnlySnakeCase(t *testing.T) {
	text := written(t, WriteJSON, document())
	if !json.Valid([]byte(text)) {
		t.Fatal("no JSON")
	}
	for _, key := range regexp.MustCompile(`"([^"]*)":`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`).MatchString(key[1]) {
			t.Errorf("key %q", key[1])
		}
	}
}

// A backslash of the name must not take the one that keeps a bar from ending the
// cell.
func TestInlineKeepsBackslashes(t *testing.T) {
	if got, want := inline(`b\|c`), `b\\\|c`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
