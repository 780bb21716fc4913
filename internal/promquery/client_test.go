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
		"too many samples": {
			422, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`,
			[]string{"too many samples", "shorter range"},
		},
		"wrong question": {400, `{"status":"error","errorType":"bad_data","error":"parse\u001b[2J error"}`, []string{"bad_data: parse[2J error"}},
		"another thing":  {200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`, []string{"not from a Prometheus"}},
		"elsewhere":      {302, "", []string{"302", "login page"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://sso.example.com/login?token=s3cret")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}}
			c := f.client(t)
			ask(t.Context(), c)
			ask(t.Context(), c) // asks nothing, after an error
			err := c.err
			if err == nil || f.token != "Bearer s3cret" || len(f.asked) != 1 {
				t.Fatalf("%v, %q, asked %q", err, f.token, f.asked)
			}
			for _, want := range append(test.want, `query "c{a=\"b\"}" at Prometheus `+c.base.String()) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nhas no %q", err, want)
				}
			}
			if strings.ContainsAny(err.Error(), "\x1b\n") || strings.Contains(err.Error(), "s3cret") || len(err.Error()) > 1000 {
				t.Errorf("%q", err)
			}
		})
	}
}

func ask(ctx context.Context, c *client) {
	c.query(ctx, "query", url.Values{"query": {`c{a="b"}`}}, &model.Vector{})
}

// TestQueryEnds checks that a query ends with its context, and says what to do.
func TestQueryEnds(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	c := (&fake{}).client(t)
	if ask(ctx, c); c.err == nil || !strings.Contains(c.err.Error(), "shorter range") {
		t.Error(c.err)
	}
}
