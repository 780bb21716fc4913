package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestAModelThatIsGone holds what is said of a server that has lost its model, and that it is found again when it comes
// back.
func TestAModelThatIsGone(t *testing.T) {
	const (
		listed = `{"object":"list","data":[{"id":"tiny","object":"model","created":1,"owned_by":"nvidia"}]}`
		empty  = `{"object":"list","data":[]}`
		path   = "(POST /v1/chat/completions)"
	)
	for name, test := range map[string]struct {
		model     string // configured; empty: the server's first
		worked    bool   // before it was lost
		page      string // body of the 404
		says      []string
		reason    Reason
		withProbe bool // one was sent although the model is lost
	}{
		"named, after success": {"tiny", true, "",
			[]string{"the server no longer serves model tiny: HTTP 404 " + path}, ReasonModelGone, true},
		"named, with a text": {"tiny", true, "gone",
			[]string{"the server no longer serves model tiny: HTTP 404: gone " + path}, ReasonModelGone, true},
		"named, from the start": {"tiny", false, "",
			[]string{"the server serves no model: HTTP 404 " + path}, ReasonNoModelLoaded, true},
		"the first one, after": {"", true, "",
			[]string{"the server no longer serves model tiny: HTTP 404",
				"the server serves no model: its list of models is empty"}, ReasonNoModelLoaded, false},
		"the first one, at the start": {"", false, "",
			[]string{"the server serves no model: its list of models is empty"}, ReasonNoModelLoaded, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			lost, probes := false, 0
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/v1/models" && lost:
					reply(200, empty)(w, r)
				case r.URL.Path == "/v1/models":
					reply(200, listed)(w, r)
				case r.URL.Path != "/v1/chat/completions":
					http.NotFound(w, r)
				case lost:
					probes++
					answers(404, "", test.page)(w, r)
				default:
					twoIn(ms).stream(w, r)
				}
			})
			target.Dialect = nil
			m := NewMember(target, test.model, 1)
			if test.worked {
				endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			}
			lost = true
			var r *Result
			for _, says := range test.says {
				probes = 0
				r = m.Probe(t.Context(), question(2))
				endsAs(t, r, Rejected, says)
			}
			if r.Reason != test.reason || (probes > 0) != test.withProbe {
				t.Errorf("%d probes sent; %v, want the reason %v", probes, r.Err, test.reason)
			}
			lost = false
			endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			if server := m.Knowledge().Type.Name; server != "dynamo" {
				t.Errorf("it is known as %q afterwards", server)
			}
		})
	}
}

// TestReasonsAreWords holds that each reason reads as a few words, without the abbreviations that only the code uses, and
// that the list has them all.
func TestReasonsAreWords(t *testing.T) {
	words := regexp.MustCompile(`^[a-z]+(_[a-z]+){0,4}$`)
	abbreviation := regexp.MustCompile(`(^|_)(cert|err|conn|auth|req|resp|msg|max|len|num|ctx)(_|$)`)
	for _, name := range Reasons() {
		if !words.MatchString(string(name)) || abbreviation.MatchString(string(name)) {
			t.Errorf("%q does not read as words", name)
		}
	}
	source := must(os.ReadFile("outcome.go"))
	declared := regexp.MustCompile(`(?m)^\tReason\w+ +Reason = "(\w+)"`).FindAllSubmatch(source, -1)
	var names []Reason
	for _, line := range declared {
		names = append(names, Reason(line[1]))
	}
	slices.Sort(names)
	equal(t, "reasons", names, Reasons())
}

// TestReasonsOfFaults holds what an alert says of the faults that people on call meet: outcome, status and reason.
func TestReasonsOfFaults(t *testing.T) {
	dialed := func(err error) func(*testing.T) Target {
		return func(*testing.T) Target {
			return newTarget(func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
			})
		}
	}
	answered := func(handler http.HandlerFunc) func(*testing.T) Target {
		return func(t *testing.T) Target { return serve(t, handler) }
	}
	withKey := func(handler http.HandlerFunc) func(*testing.T) Target {
		return func(t *testing.T) Target {
			target := serve(t, handler)
			target.Key = "sk-of-a-test"
			return target
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	never := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	mute := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far) //nolint:errcheck // it says nothing
		return near, nil
	}
	says := func(text string) func(*testing.T) Target { // once it was asked
		return func(*testing.T) Target {
			return newTarget(func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					request, err := http.ReadRequest(bufio.NewReader(far))
					if err == nil {
						_, _ = io.Copy(io.Discard, request.Body)
					}
					_, _ = io.WriteString(far, text)
					_ = far.Close()
				}()
				return near, nil
			})
		}
	}
	for name, test := range map[string]struct {
		target func(*testing.T) Target
		want   string // outcome, status and reason
	}{
		"a wrong name": {dialed(&net.DNSError{Err: "no such host", Name: "t", IsNotFound: true}), "dns 0 host_name_not_found"},
		"a resolver without an answer": {dialed(&net.DNSError{Err: "i/o timeout", Name: "t", IsTimeout: true}),
			"dns 0 name_lookup_timeout"},
		"a resolver that fails": {dialed(&net.DNSError{Err: "server misbehaving", Name: "t", IsTemporary: true}),
			"dns 0 name_lookup_failed"},
		"nothing listens":     {dialed(syscall.ECONNREFUSED), "connect 0 connection_refused"},
		"no route":            {dialed(syscall.EHOSTUNREACH), "connect 0 host_unreachable"},
		"no network":          {dialed(syscall.ENETUNREACH), "connect 0 host_unreachable"},
		"reset at once":       {dialed(syscall.ECONNRESET), "connect 0 connection_reset"},
		"the system gave up":  {dialed(syscall.ETIMEDOUT), "connect 0 connect_timeout"},
		"packets are dropped": {func(*testing.T) Target { return newTarget(never) }, "timeout 0 connect_timeout"},
		"a silent TLS handshake": {func(*testing.T) Target {
			target := newTarget(mute)
			target.URL = "https://t"
			return target
		}, "timeout 0 tls_handshake_timeout"},
		"nobody reads the request": {func(*testing.T) Target {
			return newTarget(func(context.Context, string, string) (net.Conn, error) {
				near, _ := net.Pipe()
				return near, nil
			})
		}, "timeout 0 request_not_sent_in_time"},
		"closed before the answer": {answered(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
			"truncated 0 closed_before_answer"},
		"a switch of protocols": {says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
			"malformed 101 unreadable_data"},
		"something that is no HTTP": {says("SSH-2.0-x\r\n"), "malformed 0 invalid_http"},
		"no answer":                 {answered(silent), "timeout 0 no_answer_in_time"},
		"a header and no token":     {answered(after(0).hangs().stream), "timeout 200 no_token_in_time"},
		"slow tokens":               {answered(tokens(10, 20*time.Second).stream), "timeout 200 stream_too_slow"},
		"a stall":                   {answered(after(0, counted(1)).hangs().stream), "stalled 200 stream_stalled"},
		"a broken stream": {answered(append(after(0, counted(1)), step{then: cut}).stream),
			"truncated 200 stream_broken_off"},

		"a wrong key":     {withKey(reply(401, `{"error":{"message":"bad key"}}`)), "unauthorized 401 key_rejected"},
		"no key":          {answered(reply(401, `{"error":{"message":"who?"}}`)), "unauthorized 401 key_missing"},
		"a forbidden key": {withKey(reply(403, `{"error":{"message":"no"}}`)), "unauthorized 403 access_denied"},
		"a login elsewhere": {answered(redirects("https://sso.example.com/login")),
			"unauthorized 302 redirected_to_login"},
		"another host": {answered(redirects("https://new.example.com/v1/chat/completions")),
			"unauthorized 302 redirected_to_another_host"},
		"a quota": {answered(reply(429, `{"error":{"message":"Quota exceeded for tokens per day"}}`)),
			"rate_limited 429 quota_exhausted"},
		"an unknown model": {answered(reply(404, `{"error":{"message":"The model `+"`x`"+` does not exist.","code":404}}`)),
			"rejected 404 model_not_found"},
		"an unknown path": {answered(http.NotFound), "rejected 404 model_or_path_not_found"},
		"overload":        {answered(reply(503, `{"error":{"message":"busy"}}`)), "overloaded 503 server_overloaded"},
		"a gateway's page": {answered(from("nginx", answers(502, "text/html", "<html><title>502 Bad Gateway</title>"))),
			"server_error 502 gateway_got_no_answer"},
		"a gateway's limit": {answered(answers(504, "text/html", "<html><title>504 Gateway Time-out</title>")),
			"server_error 504 gateway_timeout"},
		"a crash": {answered(reply(500, `{"error":{"message":"CUDA error"}}`)), "server_error 500 internal_error"},
		"an error in a stream": {answered(after(0, counted(1), `{"error":{"message":"CUDA error","code":500}}`).stream),
			"server_error 200 error_in_answer"},
		"a page": {answered(answers(200, "text/html", "<html>welcome</html>")), "not_streamed 200 not_a_stream"},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := test.target(t)
			r := target.Probe(t.Context(), wire.Ask{Prompt: strings.Repeat("p", 8<<10), MaxTokens: 10})
			if r.Outcome == Timeout && r.Elapsed != target.Timeout {
				t.Errorf("it took %v, want %v", r.Elapsed, target.Timeout)
			}
			got := fmt.Sprintf("%s %d %s", r.Outcome, r.Status, r.Reason)
			if got != test.want {
				t.Errorf("%s, want %s: %v", got, test.want, r.Err)
			}
		})
	}
}

// TestAPathThatIsNotThere holds that a 404 of a server of which nothing else is known says no more than that.
func TestAPathThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewMember(serve(t, http.NotFound), "m", 1).Probe(t.Context(), question(2))
		endsAs(t, r, Rejected, "HTTP 404: 404 page not found (POST /v1/chat/completions)")
		if r.Reason == ReasonModelGone || r.Reason == ReasonNoModelLoaded {
			t.Errorf("%v is more than was shown", r.Err)
		}
	})
}
