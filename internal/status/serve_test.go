package status

import (
	"net/http"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	b := newTestBoard()
	type answer struct {
		code int
		text string
	}
	ask := func(path string) answer {
		w := get(t, b, path)
		return answer{w.Code, w.Body.String()}
	}
	if got, want := ask("/-/healthy"), (answer{200, "Prober is Healthy.\n"}); got != want {
		t.Errorf("healthy: %v, want %v", got, want)
	}
	if got, want := ask("/-/ready"), (answer{503, "Prober is not Ready.\n"}); got != want {
		t.Errorf("not ready yet: %v, want %v", got, want)
	}
	b.SetReady(true)
	if got, want := ask("/-/ready"), (answer{200, "Prober is Ready.\n"}); got != want {
		t.Errorf("ready: %v, want %v", got, want)
	}
	b.SetReady(false)
	if got := ask("/-/ready").code; got != 503 {
		t.Errorf("not ready any more: %d, want 503", got)
	}
}

func TestEveryPathIsOnlyRead(t *testing.T) {
	b := newTestBoard("a")
	b.SetReady(true)
	for _, path := range []string{"/", "/api/v1/results", "/api/v1/targets", "/-/healthy", "/-/ready"} {
		for method, want := range map[string]int{
			http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, http.MethodDelete: 405, http.MethodOptions: 405,
		} {
			w := request(t, b, method, path)
			if w.Code != want {
				t.Errorf("%s %s: %d, want %d", method, path, w.Code, want)
			}
			if want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: Allow: %q", method, path, w.Header().Get("Allow"))
			}
			for header, part := range map[string]string{
				"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			} {
				if got := w.Header().Get(header); !strings.Contains(got, part) {
					t.Errorf("%s %s: %s: %q, want %q in it", method, path, header, got, part)
				}
			}
		}
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	for _, path := range []string{"/index.html", "/api/v1/result", "/api/v1/results/", "/-/", "/favicon.ico"} {
		if got := get(t, newTestBoard(), path).Code; got != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, got)
		}
	}
}
