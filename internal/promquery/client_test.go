package promquery

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
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
		"too many":       {422, `{"status":"error","errorType":"execution","error":"too many samples"}`, []string{"too many samples", "shorter range"}},
		"wrong question": {400, `{"status":"error","errorType":"bad_data","error":"parse\u001b[2J error"}`,
			[]string{"bad_data: parse error"}},
		"another thing": {200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`, []string{"not from a Prometheus"}},
		"elsewhere":     {302, "", []string{"302", "login page"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://sso.example.com/login?token=s3cret")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}}
			c := f.client(t)
			for range 2 { // the second asks nothing, after an error
				c.query(t.Context(), "query", url.Values{"query": {`c{a="b"}`}}, &model.Vector{})
			}
			if c.err == nil || f.token != "Bearer s3cret" || len(f.asked) != 1 {
				t.Fatalf("%v, %q, asked %q", c.err, f.token, f.asked)
			}
			err := c.err.Error()
			for _, want := range append(test.want, `query "c{a=\"b\"}" at Prometheus `+c.base.String()) {
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

// TestQueryEnds checks that a query ends with its context, and says what to do.
func TestQueryEnds(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	c := (&fake{}).client(t)
	if c.query(ctx, "query", nil, nil); c.err == nil || !strings.Contains(c.err.Error(), "shorter range") {
		t.Error(c.err)
	}
}
