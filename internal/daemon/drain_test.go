package daemon

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRequestDrain holds that the hook leaves a prober that drains, whether it did so before or not, and what it says
// where it cannot.
func TestRequestDrain(t *testing.T) {
	draining, asked := false, 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /-/drain", func(w http.ResponseWriter, _ *http.Request) {
		draining, asked = !draining, asked+1
		answer := drainEnded
		if draining {
			answer = drainBegun
		}
		_, _ = w.Write([]byte(answer + "\n"))
	})
	mux.HandleFunc("POST /locked/-/drain", func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(drainBegun))
	})
	mux.HandleFunc("POST /never/-/drain", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(drainEnded)) })
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	for i, want := range []int{1, 3, 5} {
		if err := RequestDrain(t.Context(), server.URL); err != nil || !draining || asked != want {
			t.Errorf("hook %d: %v, draining: %v, asked %d times", i, err, draining, asked)
		}
	}
	locked := strings.Replace(server.URL, "//", "//prober:secret@", 1) + "/locked"
	if err := RequestDrain(t.Context(), locked); err != nil {
		t.Error(err)
	}
	for to, want := range map[string]string{
		server.URL + "/locked":                        "401 Unauthorized",
		server.URL + "/none":                          "404 Not Found; the prober needs PROBER_DRAIN_ENDPOINT=on",
		server.URL + "/never":                         "does not drain",
		"localhost:9464":                              "want the URL of a prober",
		"http://127.0.0.1:1":                          "connection refused",
		strings.Replace(locked, "secret", "wrong", 1): "prober:xxxxx@",
	} {
		if err := RequestDrain(t.Context(), to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", to, err, want)
		}
	}
}
