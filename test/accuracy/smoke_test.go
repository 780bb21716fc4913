package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/testing/kerneltest"
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

// TestAllFramesAreJoined measures two short streams with real processes. It says nothing of how exact the times are,
// but holds that the arrivals of the prober are the kernel's, unless they are not meant to be.
func TestAllFramesAreJoined(t *testing.T) {
	var out, progress bytes.Buffer
	args := strings.Fields("-streams 1,2 -tokens 20 -tokens-alone 10 -gap 2ms -spread 10ms -runs 1")
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{bareReader, userTimestamps, kernelTimestamps} {
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
	arrivalsByKernel := regexp.MustCompile(`(?m)^\| 2 \| prober, kernel timestamps \|(?:[^|]+\|){11} [0-9.]+% \|`)
	if !arrivalsByKernel.MatchString(out.String()) {
		t.Logf("no share of kernel timestamps in\n%s", out.String())
		kerneltest.MissTimestamps(t)
	}
	if n := strings.Count(progress.String(), "\n"); n != 6 {
		t.Errorf("%d lines of progress in\n%s", n, progress.String())
	}
}

// TestValuesAreMeasured makes two short probes of each kind with real processes. It says nothing of times.
func TestValuesAreMeasured(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-probes", "2", "-tokens", "5", "-gap", "2ms", "-first", "20ms", "-words", "10", "-loads", "idle"}
	if err := runValues(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, shape := range []string{oneWrite, onTime} {
		if row := "| idle | " + shape + " | "; strings.Count(out.String(), row) != 1 {
			t.Errorf("not one row %q in\n%s", row, out.String())
		}
	}
	if err := runValues(t.Context(), []string{"-loads", "heavy"}, &out, io.Discard); err == nil {
		t.Error("an unknown load was measured")
	}
}

// TestTally holds when a value is off: outside of what the server's log allows.
func TestTally(t *testing.T) {
	const ms = time.Millisecond
	var all tally
	for _, value := range []time.Duration{-1, 100 * ms, 102 * ms, 90 * ms, 110 * ms} {
		all.add(value, 98*ms, 104*ms)
	}
	if all.with != 4 || all.wrong != 2 || all.most != 8*ms {
		t.Errorf("%+v", all)
	}
}
