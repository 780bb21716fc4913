package promquery

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestErrors checks what is said when there is no answer: what was asked, of whom, why, and what to do.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   []string
	}{
		"no Prometheus":  {404, "404 page not found", []string{"404", "without /api/v1 or /graph"}},
		"no credentials": {401, "Unauthorized", []string{"401", "--prometheus-token-file"}},
		"wrong ones":     {403, "<html>no</html>", []string{"403", "--prometheus-token-file"}},
		"a login page":   {200, "<html>log in</html>", []string{"not from a Prometheus", "login page"}},
		"too many": {422, `{"status":"error","errorType":"execution","error":"too many samples"}`,
			[]string{"too many samples", "shorter range"}},
		"wrong question": {400, `{"status":"error","errorType":"bad_data","error":"parse\u001b[2J error"}`,
			[]string{"bad_data: parse error"}},
		"another thing": {200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`,
			[]string{"not from a Prometheus"}},
		"elsewhere":  {302, "", []string{"302", "login page"}},
		"a redirect": {307, "", []string{"307", "login page"}},
		"too slow": {503, `{"status":"error","errorType":"timeout","error":"query timed out"}`,
			[]string{"timeout: query timed out", "shorter range"}},
		"starting": {503, "Service Unavailable", []string{"503", "try again later"}},
		"a proxy":  {502, "<html>bad gateway</html>", []string{"502", "proxy in front of it"}},
		"too long": {200, `{"data":"` + strings.Repeat("x", 1000_000), []string{"too large", "shorter range"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://sso.example.com/login?token=s3cret")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}}
			c := f.client(t)
			for range 2 { // the second asks nothing, after an error
				c.vector(t.Context(), `c{a="b"}`, midnight)
			}
			if c.err == nil || f.token != "Bearer s3cret" || len(f.asked) != 1 {
				t.Fatalf("%v, %q, asked %q", c.err, f.token, f.asked)
			}
			err := c.err.Error()
			for _, want := range append(test.want, "Prometheus at "+c.base) {
				if !strings.Contains(err, want) {
					t.Errorf("%s\nhas no %q", err, want)
				}
			}
			if strings.ContainsAny(err, "\x1b\n") || strings.Contains(err, "s3cret") || len(err) > 1000 {
				t.Errorf("%q", err)
			}
		})
	}
}

// TestNobodyAnswers checks what is said where nothing listens.
func TestNobodyAnswers(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	c, err := newClient(server.URL, transport{})
	if err != nil {
		t.Fatal(err)
	}
	c.vector(t.Context(), "up", midnight)
	address := strings.TrimPrefix(server.URL, "http://")
	want := "Prometheus at " + server.URL + " does not answer: dial tcp " + address +
		": connect: connection refused; check --prometheus, and whether it is running"
	if c.err == nil || c.err.Error() != want {
		t.Errorf("got  %v\nwant %s", c.err, want)
	}
}

// TestQueryEnds checks that a query ends with its context, and says what to do.
func TestQueryEnds(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	c := (&fake{}).client(t)
	c.vector(ctx, "up", midnight)
	if c.err == nil || !strings.Contains(c.err.Error(), "shorter range") {
		t.Error(c.err)
	}
}
