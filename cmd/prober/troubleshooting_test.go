package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTroubleshootingQuotesTheProgram holds that the program says what headings of docs/troubleshooting.md quote. A
// heading is found by the words that a user sees, so it must have them word for word. Its dots stand for any text.
func TestTroubleshootingQuotesTheProgram(t *testing.T) {
	said := whatTheProgramSays(t)
	heading := regexp.MustCompile("(?m)^### (.*`.*)$")
	code := regexp.MustCompile("`([^`]+)`")
	quotes := 0
	for _, line := range heading.FindAllStringSubmatch(read(t, "docs/troubleshooting.md"), -1) {
		for _, quoted := range code.FindAllStringSubmatch(line[1], -1) {
			quotes++
			pattern := strings.ReplaceAll(regexp.QuoteMeta(quoted[1]), "…", ".*")
			if !strings.Contains(quoted[1], " ") {
				pattern = "^" + pattern + "$" // a word is a whole text, such as that of an outcome
			}
			if !slices.ContainsFunc(said, regexp.MustCompile(pattern).MatchString) {
				t.Errorf("docs/troubleshooting.md has the heading %q, and the program never says %q", line[0], quoted[1])
			}
		}
	}
	if quotes < 30 {
		t.Errorf("%d quotations found in the headings: the test does not see them", quotes)
	}
}

// whatTheProgramSays returns the texts in the source of the program and in its pages. The verbs of formats stay.
func whatTheProgramSays(t *testing.T) (all []string) {
	t.Helper()
	for _, folder := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(root+folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			isTest := strings.HasSuffix(path, "_test.go")
			switch {
			case strings.HasSuffix(path, ".html"):
				all = append(all, strings.Join(strings.Fields(read(t, strings.TrimPrefix(path, root))), " "))
			case strings.HasSuffix(path, ".go") && !isTest:
				all = append(all, textsOf(t, path)...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// textsOf returns the texts in a source file. One that is written in several pieces is returned whole.
func textsOf(t *testing.T, path string) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		text, ok := textOf(n)
		if ok {
			all = append(all, text)
		}
		return !ok
	})
	return all
}

// textOf returns the text of a literal, or of a sum that has one, with dots for what only the running program knows.
func textOf(n ast.Node) (text string, ok bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(n.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, hasLeft := textOf(n.X)
		right, hasRight := textOf(n.Y)
		if n.Op != token.ADD || !hasLeft && !hasRight {
			return "", false
		}
		if !hasLeft {
			left = "…"
		}
		if !hasRight {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}
