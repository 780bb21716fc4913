package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/sim"
)

// simulateLogged runs the verb with a log until one answer of three tokens was
// sent, and returns its exit code and what it said on standard error.
func simulateLogged(t *testing.T, path string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	ended := make(chan struct{})
	var stderr bytes.Buffer
	go func() {
		defer close(ended)
		code = run(ctx, []string{"simulate", "--profile", "fast", "--listen", "127.0.0.1:0", "--log-writes", path}, out, &stderr)
		out.Close()
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"messages":[{"role":"user","content":"do not stop"}],"max_tokens":3,"stream":true}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Fields(line)[1]+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	return code, stderr.String()
}

func TestSimulateLogsItsWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writes.csv")
	code, said := simulateLogged(t, path)
	if code != exitOK || !strings.HasPrefix(said, "prober simulate: 3 token writes, late by ") || strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d, standard error %q", code, said)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v in\n%s", err, data)
	}
	for i, row := range rows[1:4] {
		if !slices.Equal(row[:5], []string{"fast", "1", "0af7651916cd43dd8448eb211c80319c", string(rune('0' + i)), "1"}) {
			t.Errorf("row %v", row)
		}
		if due, before, after := row[5], row[6], row[7]; due > before || before > after || len(due) != 19 || len(after) != 19 {
			t.Errorf("due %s, before %s, after %s: want them in this order", due, before, after)
		}
	}
	for _, column := range rows[0] {
		if !strings.Contains(sim.WritesHelp, column) {
			t.Errorf("the help does not say what %s is", column)
		}
	}
}

func TestSimulateSaysThatItsLogIsIncomplete(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(full, "is a thing of Linux")
	}
	code, said := simulateLogged(t, full)
	if code != exitFailed || !strings.Contains(said, "prober: write --log-writes: write /dev/full: no space left on device") {
		t.Errorf("exit code %d, standard error %q", code, said)
	}
}
