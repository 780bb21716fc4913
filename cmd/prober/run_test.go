package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestServersOutliveTheirReader holds that a command that serves goes on when the reader of its output has gone, as
// with `prober run 2>&1 | head`, and then ends as it was told to. Each gets a query that net/http
// complains of in the log. Only the page of the demo says that nothing is paid.
func TestServersOutliveTheirReader(t *testing.T) {
	target := httptest.NewServer(&limited{})
	defer target.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", target.URL, "--listen-address", "127.0.0.1:0", "--log-level", "debug", "--log-format", "json"},
		{"demo", "--profile", "fast", "--listen-address", "127.0.0.1:0", "--log-level", "debug", "--log-format", "json"},
	} {
		t.Run(args[0], func(t *testing.T) {
			output, input, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Args = append([]string{"prober"}, args...) // the test binary is the program under this name: see TestMain
			cmd.Stdout, cmd.Stderr = input, input
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = input.Close()
			url := firstURL(t, output, args[0])
			_ = output.Close()

			for range 2 {
				response, err := http.Get(url + "/?a;b") //nolint:noctx // the process ends with the test
				if err != nil {
					t.Fatalf("no answer once the reader has gone: %v", err)
				}
				page, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				saysFree := strings.Contains(string(page), "their tokens cost nothing")
				if err != nil || saysFree != (args[0] == "demo") {
					t.Errorf("the page of %s says that its tokens cost nothing: %t, %v", args[0], saysFree, err)
				}
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s ended with %v", args[0], err)
			}
		})
	}
}

// firstURL returns where the page of a command is, as its output says.
func firstURL(t *testing.T, output *os.File, command string) string {
	t.Helper()
	where := map[string]string{"run": `"status page","url":"(http://[^/"]+)`, "demo": `page +(http://[^/]+)`}[command]
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		found := regexp.MustCompile(where).FindStringSubmatch(lines.Text())
		if found != nil {
			return found[1]
		}
	}
	t.Fatalf("%s ended, and its output does not say where it serves: %v", command, lines.Err())
	return ""
}
