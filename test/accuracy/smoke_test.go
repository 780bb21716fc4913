package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain makes a server and a client of the test binary as well.
func TestMain(m *testing.M) {
	asked, err := doJob(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if asked {
		return
	}
	os.Exit(m.Run())
}

// TestAllFramesAreJoined measures two short streams with real processes. It says
// nothing of times.
func TestAllFramesAreJoined(t *testing.T) {
	var out, progress bytes.Buffer
	args := []string{"-streams", "1,2", "-tokens", "20", "-tokens-alone", "10", "-gap", "2ms", "-spread", "10ms", "-runs", "1"}
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{bareReader, userStamped, kernelStamped} {
		tables := 2 // of ITL and of arrivals
		if client == bareReader {
			tables = 1
		}
		for _, streams := range []string{"1", "2"} {
			if row := "| " + streams + " | " + client + " | "; strings.Count(out.String(), row) != tables {
				t.Errorf("not %d rows %q in\n%s", tables, row, out.String())
			}
		}
	}
	if n := strings.Count(progress.String(), "\n"); n != 6 {
		t.Errorf("%d lines of progress in\n%s", n, progress.String())
	}
}
