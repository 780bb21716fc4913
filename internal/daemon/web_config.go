package daemon

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v4"

	"github.com/llm-prober/prober/internal/usage"
)

// checkWebConfig returns what is wrong with a web configuration file; nil for none. One without TLS and users is valid
// for the exporter-toolkit, and protects nothing.
func checkWebConfig(path string) usage.Problems {
	problem := usage.Problem{Place: fmt.Sprintf("PROBER_WEB_CONFIG_FILE=%q", path)}
	err := web.Validate(path)
	switch {
	case err != nil:
		problem.Text = strings.Join(strings.Fields(err.Error()), " ")
		problem.Hint = "see the web configuration of the Prometheus exporter-toolkit"
	case protectsNothing(path):
		problem.Text = "has neither TLS nor users: everybody who reaches the port could read the page and the metrics"
		problem.Hint = "add tls_server_config or basic_auth_users to it, or leave the setting out"
	default:
		return nil
	}
	return usage.Problems{problem}
}

// warnIfUnprotected logs if TLS and users have been removed from the web configuration file since the start. The
// exporter-toolkit reads the file again for each connection. While the file cannot be read or is invalid, it serves
// none.
func (d *Daemon) warnIfUnprotected() {
	path := d.Config.WebConfigFile
	before := d.unprotected
	d.unprotected = protectsNothing(path) && web.Validate(path) == nil
	if d.unprotected && !before {
		d.Log.Warn("the web configuration file has neither TLS nor users any more: everybody who reaches the port can read "+
			"the page and the metrics, and reload", zap.String("file", path))
	}
}

// protectsNothing reports whether a valid web configuration file has neither TLS nor users. It is false without a file,
// which nobody takes for a protection.
func protectsNothing(path string) bool {
	c := readWebConfig(path)
	return path != "" && !c.TLSConfig.IsEnabled() && len(c.Users) == 0
}

// readWebConfig reads a web configuration file that was validated. Without a file there is neither TLS nor a login.
func readWebConfig(path string) (c web.Config) {
	data, _ := os.ReadFile(path)
	_ = yaml.Unmarshal(data, &c)
	return c
}

// PageURL returns the URL at which somebody on this machine finds what is served on an address, by the web
// configuration in a file; empty for none.
func PageURL(address, webConfig string) string {
	host, port, _ := net.SplitHostPort(address) // a listener's, or validated
	ip, err := netip.ParseAddr(host)
	isEveryAddress := host == "" || err == nil && ip.IsUnspecified()
	if isEveryAddress {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}
	c := readWebConfig(webConfig)
	if c.TLSConfig.IsEnabled() {
		u.Scheme = "https"
	}
	return u.String()
}
