package usage

import (
	"slices"
	"strings"
	"testing"
)

// TestProblemsAreSorted holds the order of problems, that each is there once, and that the original is left as it was.
func TestProblemsAreSorted(t *testing.T) {
	given := Problems{
		{Place: "f:12"}, {Place: "A_10_B"}, {Place: "f:9"}, {Place: "A_2_C"}, {Place: "f:9"}, {Place: "A"}, {Place: "f:9: x"},
	}
	before := slices.Clone(given)
	got := given.Sorted()
	want := Problems{{Place: "A"}, {Place: "A_2_C"}, {Place: "A_10_B"}, {Place: "f:9"}, {Place: "f:9: x"}, {Place: "f:12"}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if !slices.Equal(given, before) {
		t.Errorf("the original is %v, want %v", given, before)
	}
}

// TestProblemsAreBounded holds that a file of something else has no line of the log for each line of it.
func TestProblemsAreBounded(t *testing.T) {
	for n, wantEnd := range map[int]string{2000: "\n  and 1900 more", 101: "\n  and 1 more", 100: "\n  "} {
		text := make(Problems, n).Error()
		lines := strings.Count(text, "\n")
		if lines != min(n, 101) || !strings.HasSuffix(text, wantEnd) {
			t.Errorf("%d problems: %d lines, of which the last is %q", n, lines, text[strings.LastIndex(text, "\n"):])
		}
	}
	if text := make(Problems, 2000).Error(); !strings.HasPrefix(text, "2,000 problems:\n") {
		t.Errorf("it begins with %q", text[:20])
	}
}

func TestProblem(t *testing.T) {
	for want, p := range map[string]Problem{
		"--qps: not a number; want 1": {Place: "--qps", Text: "not a number", Hint: "want 1"},
		"--qps: not a number":         {Place: "--qps", Text: "not a number"},
		"not a number; want 1":        {Text: "not a number", Hint: "want 1"},
	} {
		if got := p.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"model", "name", "timeout", "stall_timeout", "openai-chat", "PROBER_SHARD", "größe"}
	for word, want := range map[string]string{
		"modl": "model", "namee": "name", "modal": "model", "modle": "model", // a letter less, more, another, two swapped
		"TimeOut": "timeout", "openai": "openai-chat", "colour": "", "ab": "", "": "",
		"PROBER_SHART": "PROBER_SHARD", "prober_s": "", "größen": "größe", "e": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
