package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/sim"
)

// awaited polls the metrics of the instance on an address until they are as wanted.
func awaited(t *testing.T, address string, wanted func(page string) bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	page := ""
	for deadline := time.After(time.Minute); ; {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited a minute; the metrics are\n%s", page)
		}
		response, err := http.Get("http://" + address + "/metrics") //nolint:noctx // on loopback
		if err != nil {
			continue // it does not serve yet
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if page = string(text); wanted(page) {
			return
		}
	}
}

// outcome reports whether there are probes of an outcome.
func outcome(page, outcome string) bool {
	n := seriesOf(page, "llm_probe_probes_total", `outcome="`+outcome+`"`)
	return n != "" && n != "0"
}

// TestNoConnectionThatWasNotConfigured: whatever a target answers, its host and no other is connected to, and its
// host's name and no other is looked up.
func TestNoConnectionThatWasNotConfigured(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was asked elsewhere, with %v", r.Method, r.URL, r.Header)
	}))
	defer elsewhere.Close()
	asked := sync.Map{}
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method+" "+r.URL.Path, true)
		w.Header().Set("Alt-Svc", `h2="`+elsewhere.Listener.Addr().String()+`"`)
		w.Header().Set("Link", "<"+elsewhere.URL+">; rel=preconnect")
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer redirecting.Close()
	connects, looksUp := "connects to "+redirecting.Listener.Addr().String(), "looks up many.example"
	for url, want := range map[string][]string{
		redirecting.URL: {connects},
		strings.Replace("dns+"+redirecting.URL, "127.0.0.1", "many.example", 1): {connects, looksUp},
	} {
		seen := sync.Map{}
		d := &Daemon{
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				seen.Store("connects to "+address, true)
				return (&net.Dialer{}).DialContext(ctx, network, address)
			},
			Lookup: func(_ context.Context, family, host string) (list []netip.Addr, _ error) {
				seen.Store("looks up "+host, true)
				if family == "ip4" {
					list = append(list, netip.MustParseAddr("127.0.0.1"))
				}
				return list, nil
			},
		}
		address, end := serve(t, d, configured(nil, "PROBER_TARGETS_0_URL", url, "PROBER_TARGETS_0_MODEL", "m",
			"PROBER_QPS", "20", "PROBER_API_KEY", "sk-secret"))
		awaited(t, address, func(page string) bool { return outcome(page, "rejected") })
		end()
		got := []string{}
		for what := range seen.Range {
			got = append(got, what.(string))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
	if _, ok := asked.Load("GET /v1/models"); !ok {
		t.Error("the list of models was not asked for: its redirects were not seen")
	}
}

// TestCertificatesForTargetsAreRotated: a server that demands a client's certificate gets the one that is in the files
// by then, and is trusted by the authority that is.
func TestCertificatesForTargetsAreRotated(t *testing.T) {
	profile, err := sim.ParseProfile("fast")
	if err != nil {
		t.Fatal(err)
	}
	model := sim.New(sim.Config{Profile: profile, Seed: 1})
	defer model.Close()
	dir, first, second := t.TempDir(), newPair(t), newPair(t)
	path := first.write(t, dir, "client")

	var mu sync.Mutex
	var shown []*x509.Certificate
	now := demanding(first)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		shown = append(shown, r.TLS.PeerCertificates[0])
		mu.Unlock()
		model.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		return now, nil
	}}
	server.StartTLS()
	defer server.Close()

	address, end := serve(t, &Daemon{}, configured(nil, "PROBER_TARGETS_0_URL", server.URL,
		"PROBER_QPS", "5", "PROBER_RELOAD_INTERVAL", "100ms", "PROBER_TARGETS_0_CA_FILE", path,
		"PROBER_TARGETS_0_CERT_FILE", path, "PROBER_TARGETS_0_KEY_FILE", filepath.Join(dir, "client.key")))
	awaited(t, address, func(page string) bool { return outcome(page, "ok") })
	mu.Lock()
	now, shown = demanding(second), nil
	mu.Unlock()
	awaited(t, address, func(page string) bool { return outcome(page, "tls") }) // until the files have changed
	second.write(t, dir, "client")
	awaited(t, address, func(string) bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(shown, second.Leaf.Equal)
	})
	end() // before the server
}

// demanding is a server with a certificate that asks clients for the same one.
func demanding(p pair) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{tls.Certificate(p)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusting(p)}
}
