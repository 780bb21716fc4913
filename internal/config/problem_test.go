package config

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProblems holds what is said of each wrong configuration in testdata/problems.txt: the text of the problems, their places and hints.
func TestProblems(t *testing.T) {
	const path = "testdata/problems.txt"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n\n")
	for i, given := range cases[1:] {
		name, _, _ := strings.Cut(given, "\n")
		t.Run(name, func(t *testing.T) {
			given, _, _ = strings.Cut(given, "\n> ")
			_, err := Load(mistaken(given))
			found, _ := errors.AsType[Problems](err)
			for _, p := range found {
				given += "\n> " + p.Error()
			}
			if diff := cmp.Diff(cases[i+1], given); diff != "" && !*update {
				t.Errorf("-want +got\n%s", diff)
			}
			if cases[i+1] = given; len(found) == 0 {
				t.Errorf("no problems, but %v", err)
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(cases, "\n\n")+"\n"), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	}
}

// mistaken is the configuration of a case.
func mistaken(given string) Options {
	content := map[string]string{
		"there": "sk", "key": "sk", "empty": "\n", "lines": "secret\nsecret\n",
		"long": strings.Repeat("s", 20_000), "huge": strings.Repeat("#", maxTargets+1),
	}
	o := Options{Environ: withTarget(""), Overrides: map[string]string{}, ReadFile: files(content)}
	for _, line := range strings.Split(strings.ReplaceAll(given, "␀", "\x00"), "\n")[1:] {
		name, text, _ := strings.Cut(line, "=")
		if url, ok := strings.CutPrefix(line, "URL "); ok {
			o.URLs = append(o.URLs, url)
		} else if yaml, ok := strings.CutPrefix(line, "|"); ok {
			o.Environ[prefix+"TARGETS_FILE"] = "f.yaml"
			content["f.yaml"] += strings.TrimPrefix(yaml, " ") + "\n"
		} else if flag, ok := strings.CutPrefix(name, "--"); ok {
			o.Overrides[strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))] = text
		} else {
			o.Environ[prefix+name] = text
		}
	}
	return o
}

func TestProblemsAreSortedByPlaceOnce(t *testing.T) {
	got := Problems{{Place: "f:12"}, {Place: "A_10_B"}, {Place: "f:9"}, {Place: "A_2_C"}, {Place: "f:9"}, {Place: "A"}, {Place: "f:9: x"}}.sorted()
	want := Problems{{Place: "A"}, {Place: "A_2_C"}, {Place: "A_10_B"}, {Place: "f:9"}, {Place: "f:9: x"}, {Place: "f:12"}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestProblemsAreBounded holds that a file of something else has no line of the log for each line of it.
func TestProblemsAreBounded(t *testing.T) {
	text := make(Problems, 2000).Error()
	if lines := strings.Count(text, "\n"); lines != 101 || !strings.HasPrefix(text, "2,000 problems") || !strings.HasSuffix(text, "\n  and 1900 more") {
		t.Errorf("%d lines, of which the last is %q", lines, text[strings.LastIndex(text, "\n"):])
	}
}

func TestNearest(t *testing.T) {
	known := []string{"model", "name", "timeout", "stall_timeout", "openai-chat"}
	for word, want := range map[string]string{
		"modl": "model", "namee": "name", "modal": "model", "modle": "model", "TimeOut": "timeout", // a letter less, more, another, two swapped, case
		"openai": "openai-chat", "colour": "", "ab": "", "": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
