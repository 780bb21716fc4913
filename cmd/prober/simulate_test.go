package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestSimulateSpeaksAsItsFlagsSay holds what flags of simulate change in the answers.
func TestSimulateSpeaksAsItsFlagsSay(t *testing.T) {
	const question = `{"model":"meta-llama/Llama-3.1-8B-Instruct","stream":true,"max_tokens":8,"messages":[{"role":"user","content":"why"}]}`
	for _, test := range []struct {
		flags, path, body string
		has, not          string
	}{
		{"--api ollama", "/api/version", "", `"version"`, ""},
		{"--server sglang", "/v1/models", "", `"sglang"`, ""},
		{"--reasoning 3", "/v1/chat/completions", question, "reasoning", ""},
		{"--reasoning 3 --hide-reasoning", "/v1/chat/completions", question, `"content"`, `"reasoning`},
	} {
		t.Run(test.flags, func(t *testing.T) {
			read, written := io.Pipe()
			cmd := newSimulate()
			cmd.SetArgs(append(strings.Fields(test.flags), "--profile", "fast", "--listen", "127.0.0.1:0"))
			cmd.SetOut(written)
			ended := make(chan error, 1)
			go func() { ended <- cmd.ExecuteContext(t.Context()) }()
			t.Cleanup(func() {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
			line, err := bufio.NewReader(read).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			method, url := http.MethodGet, strings.Fields(line)[1]+test.path
			if test.body != "" {
				method = http.MethodPost
			}
			request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			answer, err := io.ReadAll(response.Body)
			if text := string(answer); err != nil || !strings.Contains(text, test.has) || test.not != "" && strings.Contains(text, test.not) {
				t.Errorf("%v, want %q and not %q:\n%s", err, test.has, test.not, text)
			}
		})
	}
}
