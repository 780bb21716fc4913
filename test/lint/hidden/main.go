// Hidden finds assignments in front of a condition that does not test what was assigned: if x = f(); y {. It reads all Go
// files below a directory, its argument, and ends with 1 if it finds any.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	found, err := search(os.DirFS(os.Args[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, "hidden:", err)
		os.Exit(2)
	}
	for _, place := range found {
		fmt.Printf("%s: the condition does not test what is assigned in front of it\n", place)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

// search returns the places of all hidden assignments in the Go files of a directory.
func search(dir fs.FS) (found []token.Position, err error) {
	files := token.NewFileSet()
	err = fs.WalkDir(dir, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		source, err := fs.ReadFile(dir, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			statement, ok := n.(*ast.IfStmt)
			if ok && hides(statement) {
				found = append(found, files.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	return found, err
}

// hides reports whether a statement has something in front of its condition that the condition does not use.
func hides(s *ast.IfStmt) bool {
	if s.Init == nil {
		return false
	}
	var assigned []ast.Expr
	switch init := s.Init.(type) {
	case *ast.AssignStmt:
		assigned = init.Lhs
	case *ast.IncDecStmt:
		assigned = []ast.Expr{init.X}
	}
	isUsed := func(e ast.Expr) bool { return uses(s.Cond, e) }
	return !slices.ContainsFunc(assigned, isUsed)
}

// uses reports whether a condition contains an expression, which is a variable, a field or an element.
func uses(condition, assigned ast.Expr) bool {
	name := text(assigned)
	if strings.Trim(name, "_") == "" {
		return false
	}
	used := false
	ast.Inspect(condition, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		used = used || ok && text(e) == name
		return !used
	})
	return used
}

// text returns a variable, a field or an element as text, without the index of an element; empty for anything else.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return text(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return text(e.X) + "[]"
	}
	return ""
}
