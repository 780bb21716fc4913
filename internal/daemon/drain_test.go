package daemon

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRequestDrain holds that the hook leaves a prober that drains, whether it did so before or not, and what it says
// where it cannot.
func TestRequestDrain(t *testing.T) {
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /-/drain", func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, []string{drainEnded, drainBegun}[asked%2]+"\n")
	})
	mux.HandleFunc("POST /locked/-/drain", func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, drainBegun)
	})
	mux.HandleFunc("POST /never/-/drain", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, drainEnded) })
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	as := func(user string) string { return strings.Replace(server.URL, "//", "//"+user+"@", 1) + "/locked" }
	for _, test := range []struct {
		to, err string
		asked   int
	}{
		{server.URL, "", 1},
		{server.URL, "", 3}, // the second call ended it
		{as("prober:secret"), "", 3},
		{as("prober:wrong"), "prober:xxxxx@", 3},
		{server.URL + "/locked", "401 Unauthorized", 3},
		{server.URL + "/none", "404 Not Found; the prober needs PROBER_DRAIN_ENDPOINT=on", 3},
		{server.URL + "/never", "does not drain", 3},
		{"localhost:9464", "want the URL of a prober", 3},
		{"http://127.0.0.1:1", "connection refused", 3},
	} {
		err := RequestDrain(t.Context(), test.to)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || asked != test.asked {
			t.Errorf("%s: %v after %d requests, want %q after %d", test.to, err, asked, test.err, test.asked)
		}
	}
}
