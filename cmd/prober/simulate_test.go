package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSimulateSpeaksAsItsFlagsSay holds that flags of simulate change the answers of the server.
func TestSimulateSpeaksAsItsFlagsSay(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	read, written := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		args := strings.Fields("simulate --profile fast --listen 127.0.0.1:0 --reasoning 3")
		ended <- run(ctx, args, written, os.Stderr)
	}()
	var name, url string
	if _, err := fmt.Fscanln(read, &name, &url); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	args := []string{"once", url, "--timestamps", "user", "--prompt-tokens", "80", "--max-tokens", "8", "--format", "json"}
	asked := run(ctx, args, &out, os.Stderr)
	const want = `"reasoning":3\}.*"frames":8,`
	if asked != exitOK || !regexp.MustCompile(want).MatchString(out.String()) {
		t.Errorf("exit code %d, want %s:\n%s", asked, want, out.String())
	}
	stop()
	if <-ended != exitOK {
		t.Error("the simulation failed")
	}
}
