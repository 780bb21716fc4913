package probe

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// TestCacheStates holds what a server's count of cached tokens says of a prompt.
func TestCacheStates(t *testing.T) {
	counts := server.Knowledge{CacheHit: true}
	cold := Question{Expect: Expectation{Length: 1000, Uncacheable: 970}, known: counts}
	doubtful := Question{Expect: Expectation{Length: 1000, Uncacheable: 970}}
	warm := Question{Expect: Expectation{Length: 1000}, known: counts}
	again := Question{Expect: Expectation{Length: 1000, Words: 500, Repeated: 500, SentBefore: true}, known: counts}
	goesOn := Question{Ask: wire.Ask{Session: "u"}, Expect: again.Expect, known: counts}
	goesOn.Expect.Shared, goesOn.Expect.Repeated = 100, 400
	first := Question{Ask: wire.Ask{Session: "u"}, Expect: Expectation{Words: 500, Shared: 100}, known: counts}
	told := func(prompt, cached int) wire.Usage {
		return wire.Usage{Prompt: wire.Tokens(prompt), Cached: wire.Tokens(cached)}
	}
	for _, test := range []struct {
		name  string
		usage wire.Usage
		ask   Question
		want  CacheState
	}{
		{"not told", wire.Usage{Prompt: wire.Tokens(1000)}, cold, CacheUnknown},
		{"nothing", told(1000, 0), cold, CacheCold},
		{"a 0 of a server that may never count", told(1000, 0), doubtful, CacheUnknown},
		{"its first count", told(1000, 992), doubtful, CacheContaminated},
		{"its first count of a warm prompt", told(1000, 992), Question{Expect: Expectation{Length: 1000}}, CacheWarm},
		{"the template", told(1000, 16), cold, CacheCold},
		{"all that is not fresh", told(1000, 30), cold, CacheCold},
		{"a token more than that", told(1000, 31), cold, CacheContaminated},
		{"all of it", told(1000, 992), cold, CacheContaminated},
		{"without the prompt's length", wire.Usage{Cached: wire.Tokens(16)}, cold, CacheCold},
		{"an odd length", told(10, 1), cold, CacheContaminated},
		{"as meant", told(1000, 992), warm, CacheWarm},
		{"not yet, as was meant", told(1000, 0), warm, CacheCold},
		{"half of a warm prompt", told(1000, 500), again, CacheWarm},
		{"less than half of it", told(1000, 499), again, CacheMissed},
		{"none of it", told(1000, 0), again, CacheMissed},
		{"half by its configured length", wire.Usage{Cached: wire.Tokens(500)}, again, CacheWarm},
		{"less by its configured length", wire.Usage{Cached: wire.Tokens(499)}, again, CacheMissed},
		{"half of a user's history, and the system prompt", told(1000, 500), goesOn, CacheWarm},
		{"less than half of the history", told(1000, 499), goesOn, CacheMissed},
		{"the system prompt of a new user", told(1000, 200), first, CacheCold},
	} {
		if got := test.ask.cacheState(test.usage); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestRetryAfter holds the forms of a pause.
func TestRetryAfter(t *testing.T) {
	inBubble(t, "forms", func(t *testing.T) {
		soon := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
		for _, test := range []struct {
			status int
			header http.Header
			want   time.Duration
		}{
			{429, http.Header{"Retry-After": {"5"}}, 5 * time.Second},
			{503, http.Header{"Retry-After": {" 2.5 "}}, 2500 * ms},
			{529, http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"40"}}, 40 * ms},
			{429, http.Header{"Retry-After": {soon}}, 90 * time.Second},
			{429, http.Header{"Retry-After": {"Mon, 02 Jan 1995 15:04:05 GMT"}}, 0},
			{429, http.Header{"Retry-After": {"1e300"}}, 365 * 24 * time.Hour},
			{429, http.Header{"Retry-After": {"-5"}}, 0},
			{429, http.Header{"Retry-After": {"NaN"}}, 0},
			{429, http.Header{"Retry-After": {"soon"}}, 0},
			{429, nil, 0},
			{500, http.Header{"Retry-After": {"5"}}, 0},
			{503, http.Header{"Retry-After": {"5"}, "Server": {"Caddy"}}, 5 * time.Second}, // it has no server left to ask
		} {
			answer := &http.Response{StatusCode: test.status, Header: test.header}
			got := new(Transport).badStatus(answer, nil).retry
			if got != test.want {
				t.Errorf("%d %v: %v, want %v", test.status, test.header, got, test.want)
			}
		}
	})
}

// TestRedirects holds that a redirect to another host, or to a path to log in, is that of a login page, and that no
// secret in it is shown.
func TestRedirects(t *testing.T) {
	for _, test := range []struct {
		status   int
		host     string // a configured header
		path     string // a configured one
		location string
		want     Outcome
		says     string
	}{
		{status: 302, location: "https://login.example/oauth?state=secret#secret", want: Unauthorized,
			says: "HTTP 302: redirected to https://login.example/oauth; probes do not follow redirects"},
		{status: 303, location: "//login.example", want: Unauthorized, says: "redirected to http://login.example;"},
		{status: 307, location: "https://user:secret@sso.example/", want: Unauthorized, says: "to https://sso.example/;"},
		{status: 302, location: "/login?next=secret", want: Unauthorized, says: "redirected to http://t/login;"},
		{status: 307, location: "/oauth2/start?rd=secret", want: Unauthorized, says: "redirected to http://t/oauth2/start;"},
		{status: 303, location: "/ui/Sign_In", want: Unauthorized, says: "redirected to http://t/ui/Sign_In;"},
		{status: 302, location: "https://t/auth/realms/a", want: Unauthorized, says: "to https://t/auth/realms/a;"},
		{status: 302, location: "/login.php", want: Unauthorized, says: "redirected to http://t/login.php;"},
		{status: 308, location: "/v1/chat/completions/", want: Rejected, says: "to http://t/v1/chat/completions/;"},
		{status: 307, location: "/authors/logins", want: Rejected, says: "redirected to http://t/authors/logins;"},
		{status: 308, path: "/auth/chat", location: "/auth/chat/", want: Rejected, says: "to http://t/auth/chat/;"},
		{status: 301, location: "https://t/v1/chat/completions", want: Rejected, says: "redirected to https://t/v1"},
		{status: 308, location: "https://T:8443/", want: Rejected, says: "redirected to https://T:8443/;"},
		{status: 301, location: "https://www.t/", want: Rejected, says: "redirected to https://www.t/;"},
		{status: 301, host: "llm.example", location: "https://llm.example/", want: Rejected, says: "https://llm.example/;"},
		{status: 304, want: Rejected, says: "HTTP 304"},
		{status: 302, location: "http://a b/%zz", want: Rejected, says: "HTTP 302"},
	} {
		inBubble(t, test.location, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Location"] = []string{test.location}
				w.WriteHeader(test.status)
			})
			target.Path = test.path
			if test.host != "" {
				target.Header = http.Header{"Host": {test.host}}
			}
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			endsAs(t, r, test.want, test.says)
			if strings.Contains(r.Err.Error(), "secret") || r.Reason.isLogin() != (test.want == Unauthorized) {
				t.Errorf("%v", r.Err)
			}
		})
	}
}

// TestAListThatRedirectsStopsNoProbe holds that a gateway which sends GET /v1/models to a website is probed all the
// same.
func TestAListThatRedirectsStopsNoProbe(t *testing.T) {
	inBubble(t, "redirect", func(t *testing.T) {
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				http.Redirect(w, r, "https://docs.example/", http.StatusFound)
				return
			}
			twoTokens.stream(w, r)
		})
		target.Dialect = nil
		endsAs(t, NewMember(target, "", 1).Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 2}}), OK, "")
	})
}

// answering returns a dialer of connections on which a server answers with a text, a second after they began, and
// breaks the connection with an error; [io.EOF] closes it in good order.
func answering(text string, end error) Dial {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		time.AfterFunc(time.Second, func() {
			_, _ = io.WriteString(far, text)
			_ = far.Close()
		})
		go io.Copy(io.Discard, far) //nolint:errcheck // the request, whatever it is
		return breakingConn{near, end}, nil
	}
}

// A breakingConn breaks with an error where the connection beneath ends.
type breakingConn struct {
	net.Conn
	end error
}

func (c breakingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		err = c.end
	}
	return n, err
}

// TestAnswersThatBreakHTTP holds that what net/http refuses is malformed, before and within the body, for probes and
// other requests, and that a connection which ends before the answer has one outcome.
func TestAnswersThatBreakHTTP(t *testing.T) {
	const (
		ok      = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		chunked = "Transfer-Encoding: chunked\r\n"
		h2      = "\x00\x00\x00\x04\x00\x00\x00\x00\x00" // an empty SETTINGS frame
	)
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	for name, test := range map[string]struct {
		text   string
		end    error
		http2  bool
		want   Outcome
		reason Reason
		says   string
	}{
		"an encoding twice":   {ok + chunked + chunked + "\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP, "too many"},
		"an unknown encoding": {ok + "Transfer-Encoding: br\r\n\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP, "br"},
		"two lengths": {ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP,
			"multiple Content-Length"},
		"a bad length": {ok + "Content-Length: -1\r\n\r\n", io.EOF, false,
			Malformed, ReasonInvalidHTTP, "Content-Length"},
		"a header of a word": {ok + "what\r\n\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP, "MIME header"},
		"a bad status":       {"HTTP/1.1 OK\r\n\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP, "status code"},
		"a bad version":      {"HTTP/x 200 OK\r\n\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP, "version"},
		"no header at all":   {"{}\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP, "malformed HTTP response"},
		"an alert of TLS": {"\x15\x03\x01\x00\x02\x02\x46\n", io.EOF, false,
			Malformed, ReasonPortSpeaksTLS, "not valid HTTP"},
		"an endless header": {ok + "X: " + strings.Repeat("x", 2<<20), io.EOF, false,
			Malformed, ReasonInvalidHTTP, "exceeded"},
		"a bad chunk":      {ok + chunked + "\r\nxyz\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP, "chunk"},
		"a chunk too long": {ok + chunked + "\r\n1\r\nabc\r\n", io.EOF, false, Malformed, ReasonInvalidHTTP, "chunk"},

		"closed":                   {"", io.EOF, false, Truncated, ReasonClosedBeforeAnswer, "closed before the answer"},
		"reset":                    {"", reset, false, Truncated, ReasonClosedBeforeAnswer, "connection reset"},
		"closed within the header": {ok, io.EOF, false, Truncated, ReasonClosedBeforeAnswer, "closed before the answer"},
		"reset within the header":  {ok, reset, false, Truncated, ReasonClosedBeforeAnswer, "connection reset"},
		"closed within the body": {ok + chunked + "\r\n5\r\n", io.EOF, false,
			Truncated, ReasonStreamBrokenOff, "unexpected EOF"},
		"reset within the body": {ok + chunked + "\r\n5\r\n", reset, false,
			Truncated, ReasonStreamBrokenOff, "connection reset"},

		"HTTP/1.1 to HTTP/2": {ok + "\r\n", io.EOF, true, Malformed, ReasonWrongHTTPVersion, "frame too large"},
		"HTTP/2 to HTTP/1.1": {h2, io.EOF, false, Malformed, ReasonWrongHTTPVersion, "malformed HTTP response"},
		"REFUSED_STREAM": {h2 + "\x00\x00\x04\x03\x00\x00\x00\x00\x01" + "\x00\x00\x00\x07", io.EOF, true, Overloaded,
			ReasonStreamRefused, "refuses the stream"},
		"ENHANCE_YOUR_CALM": {h2 + "\x00\x00\x04\x03\x00\x00\x00\x00\x01" + "\x00\x00\x00\x0b", io.EOF, true,
			Overloaded, ReasonStreamRefused, "refuses the stream"},
		"GOAWAY with ENHANCE_YOUR_CALM": {h2 + "\x00\x00\x08\x07\x00\x00\x00\x00\x00" +
			"\x00\x00\x00\x01\x00\x00\x00\x0b", io.EOF, true, Overloaded, ReasonStreamRefused, "refuses the stream"},
		"HTTP_1_1_REQUIRED": {h2 + "\x00\x00\x04\x03\x00\x00\x00\x00\x01" + "\x00\x00\x00\x0d", io.EOF, true, Rejected,
			ReasonWrongHTTPVersion, "HTTP_1_1_REQUIRED"},
		"closed by HTTP/2": {h2, io.EOF, true, Truncated, ReasonClosedBeforeAnswer, "closed before the answer"},
		"reset by HTTP/2":  {h2, reset, true, Truncated, ReasonClosedBeforeAnswer, "connection reset"},
		"RST_STREAM": {h2 + "\x00\x00\x04\x03\x00\x00\x00\x00\x01" + "\x00\x00\x00\x02", io.EOF, true, Truncated,
			ReasonClosedBeforeAnswer, "received from peer"},
		"DATA before its header": {h2 + "\x00\x00\x01\x00\x00\x00\x00\x00\x01x", io.EOF, true, Malformed, ReasonInvalidHTTP,
			"PROTOCOL_ERROR"},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := newTarget(answering(test.text, test.end))
			target.Transport.route.HTTP2 = test.http2
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			endsAs(t, r, test.want, test.says)
			if r.Reason != test.reason {
				t.Errorf("%v: not because %v", r.Err, test.reason)
			}
			_, _, err := target.metadata(t.Context(), http.MethodGet, "/", nil, wire.Ask{})
			v, _ := errors.AsType[verdict](err)
			inBody := test.reason == ReasonStreamBrokenOff || strings.Contains(name, "chunk") // of a stream, which is no reply
			isRepeated := name == "REFUSED_STREAM"                                            // a request without a body, which the HTTP client may send again
			if v.outcome != test.want && !inBody && !isRepeated {
				t.Errorf("a metadata request: %s: %v", v.outcome, err)
			}
		})
	}
}

// TestAConnectionThatClosesAtOnce holds that it has one outcome, whether the request was out or not.
func TestAConnectionThatClosesAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		whileWriting error // nil: the request goes out
		http2        bool
	}{
		"closed after the request": {nil, false},
		"closed while it is sent":  {io.EOF, false},
		"reset while it is sent":   {syscall.ECONNRESET, false},
		"broken while it is sent":  {syscall.EPIPE, false},
		"HTTP/2, reset before it":  {syscall.ECONNRESET, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := newTarget(func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					_, _ = io.Copy(io.Discard, io.LimitReader(far, 1))
					_ = far.Close()
				}()
				return unwritable{breakingConn{near, io.EOF}, test.whileWriting}, nil
			})
			target.Transport.route.HTTP2 = test.http2
			r := target.Probe(t.Context(), wire.Ask{Prompt: strings.Repeat("p", 8<<10), MaxTokens: 1})
			endsAs(t, r, Truncated, "before the answer")
			equal(t, "reason", Reason("closed_before_answer"), r.Reason)
		})
	}
}

// An unwritable connection breaks with an error where something is written; not if that is nil.
type unwritable struct {
	net.Conn
	err error
}

func (c unwritable) Write(p []byte) (int, error) {
	if c.err == nil {
		return c.Conn.Write(p)
	}
	return 0, &net.OpError{Op: "write", Net: "tcp", Err: c.err}
}
