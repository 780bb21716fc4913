package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiveMistakesGiveFiveMessages(t *testing.T) {
	_, err := Load(Options{
		Overrides: map[string]string{"PROMPT_TOKENS": "8"},
		ReadFile:  files(map[string]string{"targets.yaml": "targets:\n- url: http://two\n  modle: m\n"}),
		Environ: environ(`
			QPS=fast
			TAGETS_0_URL=http://one
			TARGETS_0_URL=http://one
			TARGETS_0_API=openai
			TARGETS_FILE=targets.yaml`),
	})
	want := `5 problems in the configuration:
  --prompt-tokens="8": must be 16 to 1000000; want the length of a prompt in tokens, at least 16 (fewer leave no room for a nonce), for example 21000
  PROBER_QPS="fast": not a number; want probes per second, for example 0.1
  PROBER_TAGETS_0_URL: unknown variable (did you mean PROBER_TARGETS_0_URL?)
  PROBER_TARGETS_0_API="openai": unknown (did you mean "openai-chat"?); want auto, openai-chat, openai-completions, openai-responses, azure-openai, anthropic, sglang, tgi, triton, llama-server or ollama
  targets.yaml:3: unknown key "modle" (did you mean "model"?)`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestNoTargets(t *testing.T) {
	_, err := Load(Options{})
	want := "1 problem in the configuration:\n  PROBER_TARGETS_0_URL: no targets; set it, or give a URL as argument"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestProblemsAreSortedByPlaceOnce(t *testing.T) {
	got := Problems{{Place: "f:12"}, {Place: "A_10_B"}, {Place: "f:9"}, {Place: "A_2_C"}, {Place: "f:9"}, {Place: "A"}, {Place: "f:9: x"}}.sorted()
	want := Problems{{Place: "A"}, {Place: "A_2_C"}, {Place: "A_10_B"}, {Place: "f:9"}, {Place: "f:9: x"}, {Place: "f:12"}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestProblemsOfAnotherFile holds that a file of something else is told apart from
// a wrong one without a line of the log for each line of it.
func TestProblemsOfAnotherFile(t *testing.T) {
	_, err := Load(Options{
		Environ:  withTarget("TARGETS_FILE=f.yaml"),
		ReadFile: files(map[string]string{"f.yaml": "targets:\n" + strings.Repeat("- {level: info}\n", 1000)}),
	})
	text := err.Error()
	if lines := strings.Count(text, "\n"); lines != 101 || !strings.HasPrefix(text, "2,000 problems") || !strings.HasSuffix(text, "\n  and 1900 more") {
		t.Errorf("%d lines, of which the last is %q", lines, text[strings.LastIndex(text, "\n"):])
	}
}

func TestNearest(t *testing.T) {
	known := []string{"model", "name", "timeout", "stall_timeout", "openai-chat"}
	for _, test := range []struct{ sentence, word, want string }{
		{"a letter is missing", "modl", "model"},
		{"a letter too many", "namee", "name"},
		{"a wrong letter", "modal", "model"},
		{"two letters are swapped", "modle", "model"},
		{"upper case is no difference", "TimeOut", "timeout"},
		{"the beginning of a word", "openai", "openai-chat"},
		{"nothing is near", "colour", ""},
		{"short words need more than a letter in common", "ab", ""},
		{"nothing is nothing", "", ""},
	} {
		t.Run(test.sentence, func(t *testing.T) {
			if got := Nearest(test.word, known); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
