package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// serveInMemory serves until the end of the test, over TLS if there is a configuration for it. It returns a function
// that dials the server whatever the address.
func serveInMemory(
	t *testing.T, handler http.HandlerFunc, secure *tls.Config,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	t.Helper()
	memory := memconn.Listen(memconn.Buffer)
	var listener net.Listener = memory
	if secure != nil {
		listener = tls.NewListener(memory, secure)
	}
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	memconn.ServeOn(t, server, listener)
	return memory.Dial
}

// seenWords are texts that several goroutines note.
type seenWords struct {
	mu  sync.Mutex
	all []string
}

func (s *seenWords) add(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.all, word) {
		s.all = append(s.all, word)
	}
}

func (s *seenWords) expect(t *testing.T, about string, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.all)
	if diff := cmp.Diff(want, s.all); diff != "" {
		t.Errorf("%s (-want +got):\n%s", about, diff)
	}
}

// TestNoConnectionThatWasNotConfigured: whatever a target answers, its host and no other is connected to, and its
// host's name and no other is looked up.
func TestNoConnectionThatWasNotConfigured(t *testing.T) {
	for url, want := range map[string][]string{
		"http://target":     {"connects to target:80"},
		"dns+http://target": {"connects to 10.0.0.1:80", "looks up target"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var reached, asked seenWords
			dial := serveInMemory(t, func(w http.ResponseWriter, r *http.Request) {
				asked.add(r.Method + " " + r.URL.Path)
				w.Header().Set("Alt-Svc", `h2="elsewhere:443"`)
				w.Header().Set("Link", "<http://elsewhere>; rel=preconnect")
				http.Redirect(w, r, "http://elsewhere"+r.URL.Path, http.StatusTemporaryRedirect)
			}, nil)
			d := &Daemon{
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					reached.add("connects to " + address)
					return dial(ctx, network, address)
				},
				Lookup: func(_ context.Context, family, host string) (list []netip.Addr, _ error) {
					reached.add("looks up " + host)
					if family == "ip4" {
						list = append(list, netip.MustParseAddr("10.0.0.1"))
					}
					return list, nil
				},
			}
			start(t, simnet.New(t), d, "PROBER_TARGETS_0_URL", url, "PROBER_TARGETS_0_MODEL", "m",
				"PROBER_API_KEY", "sk-secret")
			time.Sleep(10 * time.Minute)
			reached.expect(t, url, want...)
			if !slices.Contains(asked.all, "GET /v1/models") {
				t.Errorf("%s: the list of models was not asked for, its redirect was not seen: %v", url, asked.all)
			}
		})
	}
}

// TestCertificatesForTargetsAreRotated: a server that demands a client's certificate gets the one that is in the files
// by then, and is trusted by the authority that is. Without an authority it is trusted only if it
// need not be.
func TestCertificatesForTargetsAreRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profile, err := sim.ParseProfile("fast")
		if err != nil {
			t.Fatal(err)
		}
		model := sim.New(sim.Config{Profile: profile, Seed: 1})
		t.Cleanup(model.Close)
		dir, first, second := t.TempDir(), newPair(t), newPair(t)
		path := first.write(t, dir, "client")

		var mu sync.Mutex // guards both
		var shown *x509.Certificate
		now := demanding(first)
		dial := serveInMemory(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			shown = r.TLS.PeerCertificates[0]
			mu.Unlock()
			model.ServeHTTP(w, r)
		}, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			mu.Lock()
			defer mu.Unlock()
			return now, nil
		}})
		prober := start(t, simnet.New(t), &Daemon{Dial: dial},
			"PROBER_TARGETS_0_NAME", "a", "PROBER_TARGETS_0_URL", "https://127.0.0.1",
			"PROBER_TARGETS_0_CA_FILE", path, "PROBER_TARGETS_0_CERT_FILE", path,
			"PROBER_TARGETS_0_KEY_FILE", filepath.Join(dir, "client.key"))
		time.Sleep(time.Minute)
		prober.expectSlots("a", "ok=6")

		mu.Lock()
		now = demanding(second)
		mu.Unlock()
		time.Sleep(time.Minute)
		prober.expectSlots("a", "ok=6 tls=6")

		second.write(t, dir, "client")
		time.Sleep(11 * time.Second) // two looks at the files
		prober.expectLogged(1, "reloaded")
		time.Sleep(time.Minute)
		prober.expectSlots("a", "ok=13 tls=7")
		mu.Lock()
		isShown := second.Leaf.Equal(shown)
		mu.Unlock()
		if !isShown {
			t.Error("the new certificate is not shown")
		}

		prober.mustReload(nil, "PROBER_TARGETS_0_NAME", "a", "PROBER_TARGETS_0_URL", "https://127.0.0.1",
			"PROBER_TARGETS_0_INSECURE_SKIP_VERIFY", "on", "PROBER_TARGETS_0_CERT_FILE", path,
			"PROBER_TARGETS_0_KEY_FILE", filepath.Join(dir, "client.key"))
		time.Sleep(time.Minute)
		prober.expectSlots("a", "ok=19 tls=7")
	})
}

// demanding is a server with a certificate that asks clients for the same one.
func demanding(p pair) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{tls.Certificate(p)},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    trusting(p),
	}
}
