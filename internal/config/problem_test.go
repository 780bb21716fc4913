package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/usage"
)

// TestProblems holds the place, the text and the hint of every problem. Each archive in testdata/problems is a wrong
// configuration: variables (env), flags and URLs (args), a targets file (f.yaml) and other files. The last section has
// its problems. The flag -update writes them.
func TestProblems(t *testing.T) {
	paths, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || paths == nil {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			problems := &archive.Files[len(archive.Files)-1]
			problems.Data = nil
			for _, problem := range problemsOf(t, archive) {
				problems.Data = append(problems.Data, problem.Error()+"\n"...)
			}
			golden.Equal(t, path, string(txtar.Format(archive)))
		})
	}
}

// problemsOf returns the problems of the configuration in an archive.
func problemsOf(t *testing.T, archive *txtar.Archive) usage.Problems {
	t.Helper()
	content := map[string]string{"long": strings.Repeat("s", 20_000)}
	for _, file := range archive.Files {
		content[file.Name] = string(file.Data)
	}
	o := Options{Environ: map[string]string{}, Overrides: map[string]string{}, ReadFile: files(content)}
	for line := range strings.Lines(content["env"]) {
		name, text, isSet := strings.Cut(strings.TrimSpace(line), "=")
		if isSet && !strings.HasPrefix(name, "#") {
			o.Environ[name] = text
		}
	}
	for argument := range strings.Lines(content["args"]) {
		argument = strings.TrimSpace(argument)
		name, text, _ := strings.Cut(argument, "=")
		flag, isFlag := strings.CutPrefix(name, "--")
		if isFlag {
			o.Overrides[strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))] = text
		} else {
			o.URLs = append(o.URLs, argument)
		}
	}
	if content["f.yaml"] != "" {
		o.Environ["PROBER_TARGETS_FILE"] = "f.yaml"
	}
	c, err := Load(o)
	problems, isWrong := errors.AsType[usage.Problems](err)
	if !isWrong {
		problems = c.Problems()
	}
	if problems == nil {
		t.Errorf("no problems, but %v", err)
	}
	return problems
}
