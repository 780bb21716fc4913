// Package test runs the prober as its users do: the binary, its metrics on /metrics and over OTLP, against a server that
// is not ours. Its folders do the same with the page, the image and the chart. It is a module of its own, so that what
// it needs stays out of the product's go.mod.
package test

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644)) //nolint:gosec // for another process
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
