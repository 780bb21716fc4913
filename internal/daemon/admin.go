package daemon

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/usage"
)

// controls let people pause and probe targets: those who log in, and where nobody has to, those on this machine.
func (d *Daemon) controls() status.Controls {
	log := func(r *http.Request, target, what string, fields ...zap.Field) {
		d.Log.Info(what, append(fields, zap.String("target", target), zap.String("asked_by", r.RemoteAddr))...)
	}
	address, webConfig := d.Config.ListenAddress, d.Config.WebConfigFile // which take effect with a restart only
	return status.Controls{
		Permit: func(r *http.Request) error {
			// A browser believes that any name leads to this machine (DNS rebinding), but never sends another one's.
			if hasLogin(webConfig) || isLoopback(address) && isLoopback(r.Host) {
				return nil
			}
			return errors.New("PROBER_ADMIN_API needs a login (basic_auth_users in PROBER_WEB_CONFIG_FILE), or an address and a host that are loopback")
		},
		Pause: func(r *http.Request, target string, until time.Time) {
			d.runner.Pause(target, until)
			if until.IsZero() {
				log(r, target, "target resumed")
				return
			}
			log(r, target, "target paused", zap.Time("until", until))
		},
		Probe: func(r *http.Request, target string) (*probe.Result, error) {
			log(r, target, "probe on request")
			return d.runner.Probe(r.Context(), target)
		},
	}
}

func checkAdmin(c *config.Config) usage.Problems {
	if !c.AdminAPI || isLoopback(c.ListenAddress) || hasLogin(c.WebConfigFile) {
		return nil
	}
	return usage.Problems{{
		Place: "PROBER_ADMIN_API", Text: "anybody who reaches PROBER_LISTEN_ADDRESS=" + c.ListenAddress + " could pause targets",
		Hint: "add basic_auth_users to the file of PROBER_WEB_CONFIG_FILE, or listen on 127.0.0.1",
	}}
}

// hasLogin reports whether only those are served who have a password or a certificate. The file may have changed.
func hasLogin(webConfig string) bool {
	c := readWebConfig(webConfig)
	return len(c.Users) > 0 || c.TLSConfig.ClientAuth == "RequireAndVerifyClientCert"
}

// isLoopback reports whether an address, with or without a port, is on this machine alone.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, _ := netip.ParseAddr(host)
	return host == "localhost" || ip.IsLoopback()
}
