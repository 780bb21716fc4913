package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/config"
)

// TestExamples holds that each file of examples/ begins with what it shows and how it is run, that the table has it with
// that command, and that its configuration is valid. Only keys and certificates are not there.
func TestExamples(t *testing.T) {
	table := read(t, "examples/README.md")
	paths, err := filepath.Glob(root + "examples/*")
	if err != nil || len(paths) < 10 {
		t.Fatalf("examples: %q, %v", paths, err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if name == "README.md" {
			continue
		}
		text := read(t, "examples/"+name)
		row := tableRowOf(table, name)
		if row == "" {
			t.Errorf("examples/README.md has no row with a link to %s", name)
		}
		if filepath.Ext(name) == ".jsonl" {
			continue // it has no comments; an example names it, which is loaded with it
		}

		lines := strings.SplitN(text, "\n", 3)
		about, isComment := strings.CutPrefix(lines[0], "# ")
		command, isCommand := strings.CutPrefix(lines[1], "# ")
		if !isComment || !isCommand || !strings.HasSuffix(about, ".") || !strings.Contains(command, "examples/"+name) {
			t.Errorf("examples/%s begins with %q: want a comment on what it shows, and one with the command that runs it",
				name, lines[:2])
		}
		if !strings.Contains(row, "`"+command+"`") {
			t.Errorf("examples/README.md has not the command of %s: %s", name, command)
		}
		switch filepath.Ext(name) {
		case ".yaml":
			checkExample(t, name, map[string]string{"PROBER_TARGETS_FILE": root + "examples/" + name})
		case ".env":
			checkExample(t, name, variablesOf(text))
		}
	}
}

func tableRowOf(table, name string) string {
	return regexp.MustCompile(`(?m)^\|.*\]\(` + regexp.QuoteMeta(name) + `\).*$`).FindString(table)
}

// variablesOf returns the variables of a file for docker run --env-file.
func variablesOf(text string) map[string]string {
	variables := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") {
			variables[name] = value
		}
	}
	return variables
}

// checkExample loads a configuration as prober config check does.
func checkExample(t *testing.T, name string, environ map[string]string) {
	t.Helper()
	c, err := config.Load(config.Options{Environ: environ, Elsewhere: true})
	if err != nil {
		t.Errorf("examples/%s: %v", name, err)
		return
	}
	problems := c.Problems()
	if problems != nil {
		t.Errorf("examples/%s: %v", name, problems)
	}
	for _, warning := range c.Warnings {
		if !strings.Contains(warning, "does not exist here") {
			t.Errorf("examples/%s warns: %s", name, warning)
		}
	}
}

// TestExamplesNameVariablesOfOpenTelemetry is about otlp.env, whose variables config does not know.
func TestExamplesNameVariablesOfOpenTelemetry(t *testing.T) {
	page, err := os.ReadFile(root + "docs/otlp.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range variablesOf(read(t, "examples/otlp.env")) {
		if strings.HasPrefix(name, "OTEL_") && !bytes.Contains(page, []byte(name)) {
			t.Errorf("examples/otlp.env has %s, which docs/otlp.md does not explain", name)
		}
	}
}
