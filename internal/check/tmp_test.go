package check

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/llm-prober/prober/internal/memconn"
)

func serve(t *testing.T, h http.Handler) func(context.Context, string, string) (net.Conn, error) {
	l := memconn.Listen(1 << 16)
	s := &http.Server{Handler: h}
	done := make(chan bool)
	go func() { _ = s.Serve(l); close(done) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return l.Dial
}

func equal(t *testing.T, path, got string) {
	if os.Getenv("UP") != "" {
		_ = os.WriteFile(path, []byte(got), 0o644)
	}
	want, _ := os.ReadFile(path)
	if string(want) != got {
		t.Errorf("%s: got\n%s", path, got)
	}
}
