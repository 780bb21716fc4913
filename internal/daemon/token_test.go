package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/testing/exposition"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// A tokenServer issues the tokens token-1, token-2, … for ten minutes each.
type tokenServer struct {
	mu       sync.Mutex
	issued   int    // requests for a token, answered or not
	secret   string // that the last request had
	form     string // of the last request, without secrets in the header
	fail     string // the body of an error 401; empty: none
	failCode int
}

func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued++
	id, secret, isBasic := r.BasicAuth()
	if !isBasic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	s.secret = secret
	s.form = fmt.Sprintf("%s basic=%t %s %s", id, isBasic, r.FormValue("grant_type"), r.FormValue("scope"))
	w.Header().Set("Content-Type", "application/json")
	if s.fail != "" {
		w.WriteHeader(s.failCode)
		fmt.Fprint(w, strings.ReplaceAll(s.fail, "SECRET", secret))
		return
	}
	fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":600}`, s.issued)
}

// breakWith makes the server answer with an error from now on; an empty one ends that.
func (s *tokenServer) breakWith(code int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failCode, s.fail = code, body
}

// requests returns how many requests for a token there have been, and what the last one said.
func (s *tokenServer) requests() (n int, secret, form string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued, s.secret, s.form
}

// startWithTokens starts a prober of the targets a and b, with a client of a token server.
func startWithTokens(t *testing.T, tokens *tokenServer, settings ...string) (*simnet.Network, *instance) {
	t.Helper()
	servers := simnet.New(t, "a", "b", "login")
	servers.Answer("login/token", tokens.ServeHTTP)
	settings = append(settings, "PROBER_TARGETS_0_URL", "http://a", "PROBER_TARGETS_1_URL", "http://b",
		"PROBER_OAUTH_TOKEN_URL", "http://login/token", "PROBER_OAUTH_CLIENT_ID", "prober")
	return servers, start(t, servers, &Daemon{}, settings...)
}

// expectTokens expects the number of requests for a token, and the token that a target got last.
func expectTokens(t *testing.T, servers *simnet.Network, tokens *tokenServer, requests int, last string) {
	t.Helper()
	n, _, _ := tokens.requests()
	expectEqual(t, "requests for a token", n, requests)
	for _, target := range []string{"a", "b"} {
		expectLastRequest(t, servers, target, target, "Bearer "+last)
	}
}

// TestOneTokenForAllTargets holds that targets with the same client fetch one token together, that it is renewed before
// it expires, that no probe is lost to that, and that an outage of the token server which is shorter than the rest of
// the token's life is not seen. A longer one fails every probe, and the token server is not asked in each slot.
func TestOneTokenForAllTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := &tokenServer{}
		servers, prober := startWithTokens(t, tokens,
			"PROBER_OAUTH_SECRET", "s3cret/verysecret", "PROBER_OAUTH_SCOPES", "api://llm/.default offline")
		time.Sleep(7 * time.Minute)
		expectTokens(t, servers, tokens, 1, "token-1")
		_, secret, form := tokens.requests()
		expectEqual(t, "secret", secret, "s3cret%2Fverysecret") // as RFC 6749, section 2.3.1, has it
		expectEqual(t, "form", form, "prober basic=true client_credentials api://llm/.default offline")
		time.Sleep(150 * time.Second) // at 9:30, more than nine tenths of its life are over
		expectTokens(t, servers, tokens, 2, "token-2")
		prober.expectSlots("a:80", "ok=57")

		servers.Down("login")
		time.Sleep(7 * time.Minute)
		prober.expectSlots("a:80", "ok=99")
		time.Sleep(10 * time.Minute)
		slots := exposition.Slots(prober.get("/metrics"))["a:80"]
		if !strings.HasPrefix(slots, "connect=") {
			t.Errorf("slots of a:80 without a token: %q", slots)
		}
		prober.expectShown("/?target=a:80", "no token from the token server login: ")
		servers.Up("login")
		time.Sleep(6 * time.Minute) // more than the longest pause
		expectTokens(t, servers, tokens, 3, "token-3")
	})
}

// TestATokenIsRefused holds that a target which answers 401 gets a new token in the next slot, and that one which
// refuses every token makes the prober fetch few.
func TestATokenIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := &tokenServer{}
		servers, prober := startWithTokens(t, tokens, "PROBER_OAUTH_SECRET", "verysecret")
		time.Sleep(time.Minute)
		servers.Answer("a/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer token-1" {
				http.Error(w, "the token token-1 was revoked", http.StatusUnauthorized)
				return
			}
			servers.Simulator("a").ServeHTTP(w, r)
		})
		time.Sleep(time.Minute)
		expectTokens(t, servers, tokens, 2, "token-2")
		prober.expectSlots("a:80", "ok=11 unauthorized=1")
		prober.expectNotShown("/?target=a:80", "token-1")

		servers.Answer("a/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusUnauthorized)
		})
		time.Sleep(5 * time.Minute)
		n, _, _ := tokens.requests()
		if n > 10 {
			t.Errorf("%d requests for a token in five minutes", n)
		}
	})
}

// TestAClientSecretIsRotated holds that a secret which the token server refuses is an unauthorized probe that says so
// without showing the secret, and that a new secret in the file is used without a restart, while the series go on.
func TestAClientSecretIsRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMount(t, "secret", "old-verysecret")
		tokens := &tokenServer{
			failCode: http.StatusUnauthorized,
			fail:     `{"error":"invalid_client","error_description":"AADSTS7000215: SECRET is wrong"}`,
		}
		servers, prober := startWithTokens(t, tokens,
			"PROBER_OAUTH_SECRET_FILE", m.file("secret"), "PROBER_OAUTH_CLIENT_AUTH", "body")
		time.Sleep(time.Minute)
		prober.expectSlots("a:80", "unauthorized=6")
		_, secret, form := tokens.requests()
		expectEqual(t, "secret", secret, "old-verysecret")
		expectEqual(t, "form", form, "prober basic=false client_credentials ")
		prober.expectMetrics(map[string]float64{
			`llm_probe_probes_total{target="a:80",outcome="unauthorized"}`: 6,
		})
		_, ok := prober.metric(`llm_probe_last_failure_timestamp_seconds{target="a:80",outcome="unauthorized",reason="token"}`)
		if !ok {
			t.Error("the last failure has not the reason token")
		}
		prober.expectShown("/?target=a:80", "no token from the token server login: HTTP 401: invalid_client: AADSTS7000215: ")
		for _, path := range []string{"/?target=a:80", "/metrics", "/api/v1/results", "/api/v1/targets"} {
			prober.expectNotShown(path, "verysecret")
		}
		for _, entry := range prober.logs.All() {
			text := fmt.Sprint(entry.Message, entry.ContextMap())
			if strings.Contains(text, "verysecret") {
				t.Errorf("logged: %s", text)
			}
		}

		tokens.breakWith(0, "")
		for _, next := range []string{"new-verysecret", "third-verysecret"} {
			m.swap("secret", next)
			time.Sleep(21 * time.Second) // reload intervals, in which the file stays the same, and a slot after them
			n, secret, _ := tokens.requests()
			expectEqual(t, "secret", secret, next)
			expectTokens(t, servers, tokens, n, fmt.Sprintf("token-%d", n))
		}
		prober.expectSlots("a:80", "ok=4")
	})
}
