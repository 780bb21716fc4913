package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
)

// What /-/drain answers.
const (
	drainBegun = "draining"
	drainEnded = "no longer draining"
)

// drainHandler starts no more probes: the servers are about to stop. The kubelet runs a sidecar's preStop hook when the
// pod begins to end, before the containers beside it get their SIGTERM (https://kep.k8s.io/753). Probes under way go on
// and count, unless their connection was refused. Slots are skipped and counted. A second call ends it.
func (d *Daemon) drainHandler(w http.ResponseWriter, r *http.Request) {
	answer, log := drainEnded, "no longer draining: probes start again"
	if d.runner.Drain() {
		answer, log = drainBegun, "draining: no more probes start"
	}
	d.ready(func() {})
	d.Log.Info(log, zap.String("asked_by", r.RemoteAddr))
	fmt.Fprintln(w, answer)
}

// RequestDrain makes the prober that is served at a URL start no more probes. The kubelet may run a hook twice, and a
// second call ends draining: then there is a third.
func RequestDrain(ctx context.Context, served string) error {
	u, err := url.Parse(served)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return config.Problems{{Place: "URL argument", Text: "not an http or https URL", Hint: "want the URL of a prober, for example http://127.0.0.1:9464"}}
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	ours := &tls.Config{InsecureSkipVerify: ip.IsLoopback()} // no certificate names loopback
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: ours}}
	for range 2 {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.JoinPath("/-/drain").String(), nil)
		if err != nil {
			return err
		}
		response, err := client.Do(r)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		_ = response.Body.Close()
		switch {
		case response.StatusCode == http.StatusNotFound:
			return fmt.Errorf("POST %s: %s; the prober needs PROBER_DRAIN_ENDPOINT=on", r.URL.Redacted(), response.Status)
		case response.StatusCode != http.StatusOK:
			return fmt.Errorf("POST %s: %s", r.URL.Redacted(), response.Status)
		case err != nil || strings.TrimSpace(string(body)) == drainBegun:
			return err
		}
	}
	return fmt.Errorf("%s does not drain", u.Redacted())
}
