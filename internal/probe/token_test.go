package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/testing/memconn"
)

// loginAt returns the client of a token server at a URL, whose secret is sesame.
func loginAt(url string, dial Dial) *TokenClient {
	return NewTokenClient(TokenOptions{URL: url, ID: "prober", Secret: "sesame", Dial: dial})
}

// serveLogin answers requests by a handler until the test ends, and returns what connects to it.
func serveLogin(t *testing.T, handler http.HandlerFunc) Dial {
	t.Helper()
	listener := memconn.Listen(1 << 16)
	server := &http.Server{Handler: handler}
	stopped := make(chan struct{})
	go func() {
		_ = server.Serve(listener)
		close(stopped)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close()
		<-stopped
	})
	return listener.Dial
}

// TestFetchesThatFail holds which outcome a probe has if there is no token for it, that the reason is always the token,
// and that the text names the token server and not the secret.
func TestFetchesThatFail(t *testing.T) {
	replies := func(status int, body string) func(*testing.T) Dial {
		return func(t *testing.T) Dial {
			return serveLogin(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			})
		}
	}
	fails := func(err error) func(*testing.T) Dial {
		return func(*testing.T) Dial {
			return func(context.Context, string, string) (net.Conn, error) { return nil, err }
		}
	}
	for name, test := range map[string]struct {
		url     string
		dial    func(*testing.T) Dial
		outcome Outcome
		text    string
	}{
		"no such host": {"http://login/token", fails(&net.DNSError{Err: "no such host", Name: "login", IsNotFound: true}),
			DNS, "no such host"},
		"refused connections": {"http://login/token", fails(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}),
			Connect, "connection refused"},
		"no TLS": {"https://login/token", replies(200, "{}"), TLS, "tls: "},
		"no answer": {"http://login/token", func(*testing.T) Dial {
			listener := memconn.Listen(1 << 16)
			go listener.Accept()
			return listener.Dial
		}, Timeout, "no answer within 5s"},
		"a wrong secret": {"http://login/token", replies(401, `{"error":"invalid_client","error_description":"not sesame"}`),
			Unauthorized, "HTTP 401: invalid_client: not ***"},
		"a wrong scope":   {"http://login/token", replies(400, `{"error":"invalid_scope"}`), Unauthorized, "HTTP 400: invalid_scope"},
		"an error in 200": {"http://login/token", replies(200, `{"error":"invalid_client"}`), Unauthorized, "invalid_client"},
		"a fault of its own": {"http://login/token", replies(503, `<html>sesame</html>`),
			Connect, "HTTP 503"},
		"a redirect": {"http://login/token", replies(302, `{}`), Connect, "HTTP 302"},
		"no token":   {"http://login/token", replies(200, `{"token_type":"Bearer"}`), Connect, "its reply cannot be read"},
		"no JSON":    {"http://login/token", replies(200, `{`), Connect, "its reply cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := loginAt(test.url, test.dial(t)).ensure(t.Context())
				v, _ := errors.AsType[verdict](err)
				if v.outcome != test.outcome || v.reason != ReasonToken {
					t.Errorf("%s, reason %s: %v; want %s, reason %s", v.outcome, v.reason, err, test.outcome, ReasonToken)
				}
				text := fmt.Sprint(err)
				isNamed := strings.HasPrefix(text, "no token from the token server login: ")
				if !isNamed || !strings.Contains(text, test.text) || strings.Contains(text, "sesame") {
					t.Errorf("said %q; want the server's name, %q and no secret", text, test.text)
				}
			})
		})
	}
}

// TestManyTargetsFetchOneToken holds that a hundred targets which need a token at the same time fetch one, as they do
// when it has expired.
func TestManyTargetsFetchOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		client := loginAt("http://login/token", serveLogin(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Second)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":60}`, requests.Add(1))
		}))
		for fetches := range 3 {
			var targets sync.WaitGroup
			for range 100 {
				targets.Go(func() {
					err := client.ensure(t.Context())
					want := fmt.Sprintf("token-%d", fetches+1)
					if err != nil || client.current() != want {
						t.Errorf("the token is %q, %v; want %q", client.current(), err, want)
					}
				})
			}
			targets.Wait()
			time.Sleep(time.Minute)
		}
		if requests.Load() != 3 {
			t.Errorf("%d requests for three tokens", requests.Load())
		}
	})
}
