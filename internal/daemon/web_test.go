package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/sim"
)

// everything is every path that is served, and some that are not.
var everything = []string{
	"GET /", "GET /metrics", "GET /api/v1/results", "GET /api/v1/targets", "GET /-/healthy", "GET /-/ready",
	"POST /-/reload", "PUT /-/reload", "GET /-/drain", "POST /-/drain", "GET /debug/pprof/", "GET /nothing", "OPTIONS /",
}

// serveWith starts an instance without targets on a socket, with a web configuration in dir, and returns its address.
func serveWith(t *testing.T, dir, webConfig string) string {
	t.Helper()
	path := writeFile(t, dir, "web.yaml", webConfig)
	address, stop := onSockets(t, &Daemon{}, config.Options{
		Environ: map[string]string{"PROBER_WEB_CONFIG_FILE": path, "PROBER_QPS": "0.01"}, URLs: []string{"http://127.0.0.1:1"},
	})
	t.Cleanup(stop)
	return address
}

// onSockets runs d with a configuration on a free port of loopback. It returns the address, and what stops d and waits
// for its end.
func onSockets(t *testing.T, d *Daemon, o config.Options) (address string, stop func()) {
	t.Helper()
	d.Load = func(assets *engine.Assets) (*config.Config, error) { return Load(o, assets) }
	d.Log = zap.NewNop()
	configure(t, d, o.Environ)
	var err error
	if d.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	return d.Listener.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask sends a request over a connection of its own and returns the answer's status, 0 if there is none, and who
// answered.
func ask(t *testing.T, client *tls.Config, request, address, user, password string) (int, *x509.Certificate) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	scheme := "http://"
	if client != nil {
		scheme = "https://"
	}
	r, err := http.NewRequestWithContext(t.Context(), method, scheme+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	transport := &http.Transport{TLSClientConfig: client, DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.TLS == nil {
		return response.StatusCode, nil
	}
	return response.StatusCode, response.TLS.PeerCertificates[0]
}

// users are the web configuration of a user prometheus whose password is secret.
const users = "basic_auth_users: {prometheus: $2a$04$BD2khpzWd9w1HNCcYC2cJO28LTPysWbV.jyfz/x4JATNbSSdFJJqG}\n"

// expectPassword expects that a request needs the right password.
func expectPassword(t *testing.T, client *tls.Config, request, address string) {
	t.Helper()
	for _, wrong := range [][2]string{{}, {"prometheus", ""}, {"prometheus", "Secret"}, {"root", "secret"}} {
		if status, _ := ask(t, client, request, address, wrong[0], wrong[1]); status != http.StatusUnauthorized {
			t.Errorf("%s as %q: %d, want 401", request, wrong, status)
		}
	}
	if status, _ := ask(t, client, request, address, "prometheus", "secret"); status == 0 || status == http.StatusUnauthorized {
		t.Errorf("%s with the password: %d", request, status)
	}
}

// TestEveryPathAsksForThePassword, those of health and those that are not there included.
func TestEveryPathAsksForThePassword(t *testing.T) {
	address := serveWith(t, t.TempDir(), users)
	for _, request := range everything {
		expectPassword(t, nil, request, address)
	}
}

// TestEveryPathNeedsTLS, a certificate of the client that is signed by the right authority, and the password as well.
func TestEveryPathNeedsTLS(t *testing.T) {
	dir := t.TempDir()
	ours, others := newAuthority(t), newAuthority(t)
	ours.issue(t, dir, "server")
	writeFile(t, dir, "ca.crt", ours.pem())
	address := serveWith(t, dir, users+`
tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert}
`)
	friend := &tls.Config{RootCAs: ours.pool(), Certificates: []tls.Certificate{ours.pair(t)}}
	stranger := &tls.Config{RootCAs: ours.pool(), Certificates: []tls.Certificate{others.pair(t)}}
	for _, request := range everything {
		if status, _ := ask(t, nil, request, address, "prometheus", "secret"); status != http.StatusBadRequest {
			t.Errorf("%s in plain text: %d, want 400", request, status)
		}
		for who, client := range map[string]*tls.Config{"nobody": {RootCAs: ours.pool()}, "a stranger": stranger} {
			if status, _ := ask(t, client, request, address, "prometheus", "secret"); status != 0 {
				t.Errorf("%s as %s: %d, want no answer", request, who, status)
			}
		}
		expectPassword(t, friend, request, address)
	}
}

// TestCertificatesOfTheListenerAreRotated: the next connection gets what is in the files by then, and a file that is
// wrong lets nobody in.
func TestCertificatesOfTheListenerAreRotated(t *testing.T) {
	dir, ours := t.TempDir(), newAuthority(t)
	first := ours.issue(t, dir, "server")
	const served = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
	address := serveWith(t, dir, served)
	client := &tls.Config{RootCAs: ours.pool()}
	if status, by := ask(t, client, "GET /-/healthy", address, "", ""); status != http.StatusOK || !by.Equal(first) {
		t.Fatalf("%d by %v", status, by)
	}
	second := ours.issue(t, dir, "server")
	if status, by := ask(t, client, "GET /-/healthy", address, "", ""); status != http.StatusOK || !by.Equal(second) || by.Equal(first) {
		t.Errorf("after a rotation: %d by %v", status, by)
	}
	writeFile(t, dir, "web.yaml", served+users)
	if status, _ := ask(t, client, "GET /-/healthy", address, "", ""); status != http.StatusUnauthorized {
		t.Errorf("after a password was set: %d, want 401", status)
	}
	writeFile(t, dir, "web.yaml", "nonsense")
	if status, _ := ask(t, client, "GET /-/healthy", address, "", ""); status != 0 {
		t.Errorf("with a file that is wrong: %d, want no answer", status)
	}
}

// TestServerDropsClients that do not end their request, or do not read the answer.
func TestServerDropsClients(t *testing.T) {
	for name, test := range map[string]struct {
		request string
		reads   bool
		want    time.Duration
	}{
		"a body without end":        {"POST / HTTP/1.1\r\nHost: prober\r\nContent-Length: 10\r\n\r\nbody", true, bodyLimit},
		"chunks without end":        {"POST / HTTP/1.1\r\nHost: prober\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n", true, bodyLimit},
		"an answer that nobody has": {"GET / HTTP/1.1\r\nHost: prober\r\n\r\n", false, writeLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, ended := time.Now(), make(chan time.Duration, 1)
				mux := http.NewServeMux()
				mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") })
				s, listener := newServer(mux, zap.NewNop()), sim.NewListener()
				s.ConnState = func(_ net.Conn, state http.ConnState) {
					if state == http.StateClosed {
						ended <- time.Since(begun)
					}
				}
				go func() { _ = s.Serve(listener) }()
				defer s.Close()
				client, err := listener.Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				if _, err := io.WriteString(client, test.request); err != nil {
					t.Fatal(err)
				}
				if test.reads {
					_, _ = io.Copy(io.Discard, client)
				}
				if got := <-ended; got != test.want {
					t.Errorf("dropped after %v, want %v", got, test.want)
				}
			})
		})
	}
}

// TestServerHasLimits, but none of the time in which a whole request must have been read: that would end a reload or a
// drain which takes longer.
func TestServerHasLimits(t *testing.T) {
	s := newServer(http.NewServeMux(), zap.NewNop())
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout != 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 || s.MaxHeaderBytes > 1<<16 {
		t.Errorf("read header %v, read %v, idle %v, header %d bytes", s.ReadHeaderTimeout, s.ReadTimeout, s.IdleTimeout, s.MaxHeaderBytes)
	}
}

// TestAnotherOriginCannotReload: a page of anybody's that is open in a browser which reaches the prober can make it
// POST, and is refused; curl is not.
func TestAnotherOriginCannotReload(t *testing.T) {
	address := serveWith(t, t.TempDir(), "")
	for name, test := range map[string]struct {
		header, value string
		want          int
	}{
		"curl":                        {"User-Agent", "curl/8", http.StatusOK},
		"a page of ours":              {"Sec-Fetch-Site", "same-origin", http.StatusOK},
		"a page of theirs":            {"Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		"a page on the next port":     {"Sec-Fetch-Site", "same-site", http.StatusForbidden},
		"an old browser":              {"Origin", "https://evil.example", http.StatusForbidden},
		"an old browser's page of us": {"Origin", "http://" + address, http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/-/reload", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(test.header, test.value)
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != test.want {
			t.Errorf("%s: %d, want %d", name, response.StatusCode, test.want)
		}
	}
}

// TestPageURL says where somebody on this machine finds the page.
func TestPageURL(t *testing.T) {
	dir := t.TempDir()
	secure := writeFile(t, dir, "tls.yaml", "tls_server_config: {cert_file: a, key_file: b}")
	plain := writeFile(t, dir, "users.yaml", users)
	for _, test := range [][3]string{
		{":9464", "", "http://127.0.0.1:9464/"},
		{"[::]:9464", plain, "http://127.0.0.1:9464/"},
		{"0.0.0.0:1", secure, "https://127.0.0.1:1/"},
		{"10.0.0.1:9464", "", "http://10.0.0.1:9464/"},
		{"[fd00::1]:9464", "", "http://[fd00::1]:9464/"},
	} {
		if got := PageURL(test[0], test[1]); got != test[2] {
			t.Errorf("%s is %s, want %s", test[0], got, test[2])
		}
	}
}
