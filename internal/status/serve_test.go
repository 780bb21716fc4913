package status

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	b := newTestBoard()
	for _, test := range []struct {
		ready bool
		path  string
		want  string
	}{
		{false, "/-/healthy", "200 Prober is Healthy.\n"},
		{true, "/-/ready", "200 Prober is Ready.\n"},
		{false, "/-/ready", "503 Prober is not Ready.\n"},
	} {
		b.SetReady(test.ready)
		w := get(t, b, test.path)
		equal(t, test.path, fmt.Sprintf("%d %s", w.Code, w.Body), test.want)
	}
	equal(t, "ready at first", get(t, newTestBoard(), "/-/ready").Code, http.StatusServiceUnavailable)
}

func TestEveryPathIsOnlyRead(t *testing.T) {
	r := success("a", ms)
	b := boardOf(r)
	b.SetReady(true)
	for _, path := range []string{
		"/", "/probes/" + r.TraceID, "/api/v1/results", "/api/v1/results/" + r.TraceID,
		"/api/v1/targets", "/-/healthy", "/-/ready",
	} {
		for method, want := range map[string]int{
			http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, http.MethodDelete: 405, http.MethodOptions: 405,
		} {
			w := request(t, b, method, path)
			equal(t, method+" "+path, w.Code, want)
			headers := map[string]string{
				"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			}
			if want == 405 {
				headers = map[string]string{"Allow": "GET, HEAD"}
			}
			for header, part := range headers {
				if got := w.Header().Get(header); !strings.Contains(got, part) {
					t.Errorf("%s %s: %s: %q, want %q in it", method, path, header, got, part)
				}
			}
		}
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	for _, path := range []string{"/index.html", "/probes/", "/api/v1/results/", "/-/"} {
		equal(t, path, get(t, newTestBoard(), path).Code, http.StatusNotFound)
	}
}
