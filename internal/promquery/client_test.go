package promquery

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// clientOf returns a client with a token of an HTTP server.
func clientOf(t *testing.T, serve http.HandlerFunc) *client {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	c, err := newClient(server.URL, transport{token: "s3cret", maxBytes: 1000_000})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAnswers holds that values are read, that the token is sent, and that a warning is kept once, without what
// terminals obey.
func TestAnswers(t *testing.T) {
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		result := `"vector","result":[{"metric":{"target":"a"},"value":[1,"2.5"]}]`
		if strings.HasSuffix(r.URL.Path, "/query_range") {
			result = `"matrix","result":[{"metric":{"target":"a"},"values":[[1,"2.5"]]}]`
		}
		_, _ = io.WriteString(w,
			`{"status":"success","warnings":["store 1 is\u001b[2J down"],"data":{"resultType":`+result+`}}`)
	})
	vector := c.vector(t.Context(), "up", midnight)
	matrix := c.matrix(t.Context(), "up", promv1.Range{Start: midnight, End: midnight, Step: time.Second})
	if c.err != nil || len(vector) != 1 || len(matrix) != 1 {
		t.Fatalf("%v and %v, error %v", vector, matrix, c.err)
	}
	if vector[0].Value != 2.5 || matrix[0].Values[0].Value != 2.5 {
		t.Errorf("%v and %v, want values 2.5", vector, matrix)
	}
	if diff := cmp.Diff([]string{"Prometheus says: store 1 is down"}, c.warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestErrors holds what is said of an answer without a result: which server, why, and what to do. After it, nothing
// more is asked.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   []string
	}{
		"a path that does not exist": {404, "404 page not found", []string{"404", "without /api/v1 or /graph"}},
		"a token is missing":         {401, "Unauthorized", []string{"401", "--prometheus-token-file"}},
		"a token is refused":         {403, "<html>no</html>", []string{"403", "--prometheus-token-file"}},
		"a login page":               {200, "<html>log in</html>", []string{"not from a Prometheus", "login page"}},
		"a redirect":                 {302, "", []string{"302", "login page"}},
		"a proxy without a server":   {502, "<html>bad gateway</html>", []string{"502", "try again later", "proxy"}},
		"too many samples": {422, `{"status":"error","errorType":"execution","error":"too many samples"}`,
			[]string{"too many samples", "shorter range"}},
		"a query that is not PromQL": {400, `{"status":"error","errorType":"bad_data","error":"parse\u001b[2J error"}`,
			[]string{`query "c{a=\"b\"}": bad_data: parse error`}},
		"a result of another type": {200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`,
			[]string{"not from a Prometheus"}},
		"a query that takes too long": {503, `{"status":"error","errorType":"timeout","error":"query timed out"}`,
			[]string{"timeout: query timed out", "shorter range"}},
		"an answer that is too long": {200, `{"data":"` + strings.Repeat("x", 1000_000),
			[]string{"too large", "shorter range"}},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Location", "https://sso.example.com/login?token=s3cret")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			for range 2 {
				c.vector(t.Context(), `c{a="b"}`, midnight)
			}
			if c.err == nil || requests != 1 {
				t.Fatalf("%d requests, error %v", requests, c.err)
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

// TestQueriesEndWithTheirContext holds that a query ends with its context, and says what to do.
func TestQueriesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	c := clientOf(t, nil)
	c.vector(ctx, "up", midnight)
	if c.err == nil || !strings.Contains(c.err.Error(), "shorter range") {
		t.Error(c.err)
	}
}
