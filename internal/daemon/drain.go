package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/usage"
)

// drainLimit is how long a drain lasts after the last request for it. Pods end sooner. A prober must not stay silent if
// it was drained by mistake, or if its pod goes on.
const drainLimit = 15 * time.Minute

// drainExpired is logged when a drain ends by itself.
const drainExpired = "the drain ended by itself: the prober still runs 15 minutes after it was last " +
	"drained; probes start again"

// beginDrain serves POST /-/drain: no more probes start, because the servers are about to stop. The kubelet runs a
// sidecar's preStop hook when the pod begins to end, before the containers beside it get their SIGTERM
// (https://kep.k8s.io/753). Probes under way go on and count, unless their connection was refused. Slots are skipped
// and counted. Asking again only makes the drain last longer.
func (d *Daemon) beginDrain(w http.ResponseWriter, r *http.Request) {
	changed := false
	d.changeReadiness(func() {
		changed = d.runner.SetDraining(true)
		d.drainEnds = time.Now().Add(drainLimit)
		d.drainTimer.Reset(drainLimit)
	})
	if changed {
		d.Log.Info("draining: no more probes start", zap.String("asked_by", r.RemoteAddr),
			zap.Duration("at_most", drainLimit))
	}
	fmt.Fprintln(w, "draining")
}

// endDrain serves DELETE /-/drain: probes start again.
func (d *Daemon) endDrain(w http.ResponseWriter, r *http.Request) {
	changed := false
	d.changeReadiness(func() {
		d.drainTimer.Stop()
		changed = d.runner.SetDraining(false)
	})
	if changed {
		d.Log.Info("no longer draining: probes start again", zap.String("asked_by", r.RemoteAddr))
	}
	fmt.Fprintln(w, "not draining")
}

// expireDrain ends a drain that nobody has asked for within drainLimit.
func (d *Daemon) expireDrain() {
	changed := false
	d.changeReadiness(func() {
		if time.Now().Before(d.drainEnds) { // somebody asked again as the timer fired
			return
		}
		changed = d.runner.SetDraining(false)
	})
	if changed {
		d.Log.Warn(drainExpired, zap.Duration("limit", drainLimit))
	}
}

// A DrainRequest is how a running prober is asked to start no more probes.
type DrainRequest struct {
	URL          string // of the prober; may name a user
	PasswordFile string // that holds the password of this user; empty for none
}

// Send sends the request once. A prober that drains already goes on draining.
func (q DrainRequest) Send(ctx context.Context) error {
	u, password, err := q.parse()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.JoinPath("/-/drain").String(), nil)
	if err != nil {
		return err
	}
	if u.User != nil {
		r.SetBasicAuth(u.User.Username(), password)
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	tlsConfig := &tls.Config{InsecureSkipVerify: ip.IsLoopback()} // no certificate names loopback
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig}}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("POST %s: %s; the prober needs PROBER_DRAIN_ENDPOINT=on", r.URL, response.Status)
	case http.StatusUnauthorized:
		return fmt.Errorf("POST %s: %s; give the user in the URL and the password by --password-file",
			r.URL, response.Status)
	}
	return fmt.Errorf("POST %s: %s", r.URL, response.Status)
}

// parse returns the URL and the password, or what is wrong with them.
func (q DrainRequest) parse() (u *url.URL, password string, err error) {
	u, err = url.Parse(q.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", usage.Problems{{
			Place: "URL argument", Text: "not an http or https URL",
			Hint: "want the URL of a prober, for example http://127.0.0.1:9464",
		}}
	}
	_, hasPassword := u.User.Password()
	if hasPassword {
		return nil, "", usage.Problems{{
			Place: "URL argument", Text: "a password in the URL is not accepted",
			Hint: "other users of this machine can see it: write it to a file and name that by --password-file, " +
				"with the user alone in the URL: " + withoutPassword(u),
		}}
	}
	if q.PasswordFile == "" {
		return u, "", nil
	}
	place := usage.FlagPlace("password-file", q.PasswordFile)
	if u.User == nil {
		return nil, "", usage.Problems{{
			Place: place, Text: "whose password is it?",
			Hint: "name the user in the URL, for example http://user@127.0.0.1:9464",
		}}
	}
	text, err := config.ReadFile(q.PasswordFile)
	if err != nil {
		return nil, "", usage.Problems{{
			Place: place, Text: err.Error(), Hint: "want a file that holds the password alone",
		}}
	}
	return u, strings.TrimRight(string(text), "\r\n"), nil
}

// withoutPassword returns the URL with its user alone.
func withoutPassword(u *url.URL) string {
	bare := *u
	bare.User = url.User(u.User.Username())
	return bare.String()
}
