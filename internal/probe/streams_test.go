package probe_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// TestStreams holds the definitions of docs/definitions.md: what a probe measures of each stream in testdata/streams.
// README.md there explains the files. The server writes in virtual time, so that every duration is exact.
func TestStreams(t *testing.T) {
	paths, err := filepath.Glob("testdata/streams/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d streams: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file, err := txtar.ParseFile(path)
				if err != nil {
					t.Fatal(err)
				}
				want := len(file.Files) - 1
				r := probe.ProbeOfStream(t, string(file.Comment), file.Files[:want])
				lines := probe.Measurements(r)
				for _, warning := range report.SampleOf(r, nil).Warnings {
					lines = append(lines, "warning: "+report.Warning(warning))
				}
				file.Files[want].Data = []byte(strings.Join(lines, "\n") + "\n")
				golden.Equal(t, path, string(txtar.Format(file)))
			})
		})
	}
}
