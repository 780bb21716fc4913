package promquery

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestErrors checks what is said when there is no answer: what was asked, of whom, why, and what to do.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status      int
		contentType string
		body        string
		want        []string
	}{
		"no Prometheus":   {404, "text/plain", "404 page not found", []string{"404", "no Prometheus API below that URL"}},
		"no credentials":  {401, "text/plain", "Unauthorized", []string{"401", "--prometheus-token-file"}},
		"wrong ones":      {403, "text/html", "<html>no</html>", []string{"403", "--prometheus-token-file"}},
		"a login page":    {200, "text/html", "<html>log in</html>", []string{"not from a Prometheus", "login page"}},
		"an empty answer": {200, "application/json", "", []string{"not from a Prometheus"}},
		"too many samples": {
			422, "application/json", `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`,
			[]string{"too many samples", "shorter range"},
		},
		"wrong question": {400, "application/json", `{"status":"error","errorType":"bad_data","error":"parse\u001b[2J error"}`, []string{"bad_data: parse[2J error"}},
		"another thing":  {200, "application/json", `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`, []string{"not from a Prometheus"}},
		"elsewhere":      {302, "text/plain", "", []string{"redirects to https://sso.example.com/login:"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.Header().Set("Location", "https://sso.example.com/login?token=s3cret")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}}
			c := f.client(t)
			_, err := c.instant(t.Context(), `c{a="b"}`, midnight)
			if err == nil || f.token != "Bearer s3cret" {
				t.Fatalf("%v, %q", err, f.token)
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

// TestQueryEnds checks that a query ends with its context, and says what to do.
func TestQueryEnds(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := (&fake{}).client(t).instant(ctx, "c", midnight); err == nil || !strings.Contains(err.Error(), "shorter range") {
		t.Error(err)
	}
}
