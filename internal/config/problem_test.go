package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/golden"
	"github.com/llm-prober/prober/internal/usage"
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
			c, err := Load(mistaken(given))
			found, _ := errors.AsType[usage.Problems](err)
			if err == nil {
				found = c.Problems()
			}
			for _, p := range found {
				given += "\n> " + p.Error()
			}
			if diff := cmp.Diff(cases[i+1], given); diff != "" && !golden.Updating() {
				t.Errorf("-want +got\n%s", diff)
			}
			cases[i+1] = given
			if len(found) == 0 {
				t.Errorf("no problems, but %v", err)
			}
		})
	}
	if golden.Updating() {
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
