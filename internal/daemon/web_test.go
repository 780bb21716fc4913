package daemon

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// A pair is a certificate for loopback, of a server and a client, that is signed by itself, and its key.
type pair tls.Certificate

func newPair(t *testing.T) pair {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := &x509.Certificate{
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), // a test does not outlive it
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, asked, asked, public, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return pair{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

// write writes name.crt and name.key, and returns the path of the former.
func (p pair) write(t *testing.T, dir, name string) string {
	t.Helper()
	secret, err := x509.MarshalPKCS8PrivateKey(p.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return writeFile(t, dir, name+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Leaf.Raw})))
}

// trusting trusts these pairs alone.
func trusting(all ...pair) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, p := range all {
		pool.AddCert(p.Leaf)
	}
	return pool
}

// status sends a request over a connection of its own and returns the status of the answer, 0 if there is none. A nil
// configuration is for plain text.
func (i *instance) status(client *tls.Config, request, user, password string) int {
	i.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	base := "http://127.0.0.1"
	if client != nil {
		base = "https://127.0.0.1"
	}
	r, err := http.NewRequestWithContext(i.t.Context(), method, base+path, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	transport := &http.Transport{TLSClientConfig: client, DisableKeepAlives: true, DialContext: i.dial}
	response, err := transport.RoundTrip(r)
	synctest.Wait() // the server logs a failed handshake after the client knows
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// users are the web configuration of a user prometheus whose password is secret.
const users = "basic_auth_users: {prometheus: $2a$04$BD2khpzWd9w1HNCcYC2cJO28LTPysWbV.jyfz/x4JATNbSSdFJJqG}\n"

// TestEveryPathNeedsTLSAndThePassword holds that the certificate of a client that is trusted, and the right password as
// well, are asked for on every path, those of health and those that are not there included.
func TestEveryPathNeedsTLSAndThePassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, server, friend := t.TempDir(), newPair(t), newPair(t)
		server.write(t, dir, "server")
		friend.write(t, dir, "friend")
		config := writeFile(t, dir, "web.yaml", users+"tls_server_config: {cert_file: server.crt, key_file: server.key, "+
			"client_ca_file: friend.crt, client_auth_type: RequireAndVerifyClientCert}\n")
		prober := start(t, simnet.New(t, "a"), &Daemon{}, "PROBER_WEB_CONFIG_FILE", config)
		showing := func(certificates ...tls.Certificate) *tls.Config {
			return &tls.Config{RootCAs: trusting(server), Certificates: certificates}
		}
		nobody, stranger, trusted := showing(), showing(tls.Certificate(newPair(t))), showing(tls.Certificate(friend))
		for _, request := range []string{
			"GET /", "GET /metrics", "GET /api/v1/results", "GET /api/v1/targets", "GET /-/healthy", "GET /-/ready",
			"POST /-/reload", "PUT /-/reload", "GET /-/drain", "POST /-/drain", "GET /debug/pprof/", "GET /nothing",
			"OPTIONS /",
		} {
			const noAnswer = 0
			for who, test := range map[string]struct {
				client         *tls.Config
				user, password string
				want           int
			}{
				"plain text":         {nil, "prometheus", "secret", http.StatusBadRequest},
				"no certificate":     {nobody, "prometheus", "secret", noAnswer},
				"a wrong one":        {stranger, "prometheus", "secret", noAnswer},
				"no user":            {trusted, "", "", http.StatusUnauthorized},
				"no password":        {trusted, "prometheus", "", http.StatusUnauthorized},
				"a wrong password":   {trusted, "prometheus", "Secret", http.StatusUnauthorized},
				"a user of no right": {trusted, "root", "secret", http.StatusUnauthorized},
			} {
				expectEqual(t, request+" with "+who, prober.status(test.client, request, test.user, test.password), test.want)
			}
			status := prober.status(trusted, request, "prometheus", "secret")
			if status == noAnswer || status == http.StatusUnauthorized {
				t.Errorf("%s with all that is asked for: %d", request, status)
			}
		}
	})
}

// TestServerDropsClients holds when the server drops clients that do not end their request, or do not read the answer.
func TestServerDropsClients(t *testing.T) {
	const host, chunked = "Host: prober\r\n", "Transfer-Encoding: chunked\r\n\r\n"
	for name, test := range map[string]struct {
		request string
		reads   bool
		want    time.Duration
	}{
		"a header without end":        {"GET / HTTP/1.1\r\n" + host, true, headerLimit},
		"a body without end":          {"POST / HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\nbody", true, bodyLimit},
		"chunks without end":          {"POST / HTTP/1.1\r\n" + host + chunked + "4\r\nbody\r\n", true, bodyLimit},
		"an answer that nobody reads": {"GET / HTTP/1.1\r\n" + host + "\r\n", false, writeLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, ended := time.Now(), make(chan time.Duration, 1)
				mux := http.NewServeMux()
				mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") })
				s := newServer(mux, newServerLog(zap.NewNop(), nil))
				s.ConnState = func(_ net.Conn, state http.ConnState) {
					if state == http.StateClosed {
						ended <- time.Since(begun)
					}
				}
				listener := memconn.Listen(1)
				memconn.ServeOn(t, s, listener)
				client, err := listener.Dial(t.Context(), "", "")
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
