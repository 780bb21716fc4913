package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/daemon"
)

// drainPatience is how long the prober may take to answer that it drains.
const drainPatience = 10 * time.Second

func newDrain() *cobra.Command {
	return &cobra.Command{
		Use:   "drain [URL]",
		Short: "Make the prober of this pod begin no more probes: its preStop hook",
		Long: `Drain sends POST /-/drain to the prober that runs beside it with the same environment, and
to which PROBER_DRAIN_ENDPOINT=on was given: it begins no more probes, those under way go on.
It is the preStop hook of a sidecar, for images have no shell and the kubelet's httpGet can
only GET. A second drain changes nothing; a reload, or a second POST /-/drain, ends it.

The prober is asked on loopback, at the port of PROBER_LISTEN_ADDRESS, over TLS if
PROBER_WEB_CONFIG_FILE says so. URL is where else: http://user:password@127.0.0.1:9464 for
one with passwords.`,
		Example: `  prober drain
  prober drain http://127.0.0.1:9464`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, urls []string) error {
			var served string
			if len(urls) == 1 {
				served = urls[0]
			} else {
				c, ok := daemon.WithoutTargets(env.ToMap(os.Environ()), nil)
				if !ok {
					return config.Problems{{Place: "PROBER_DRAIN_ENDPOINT", Text: "neither on nor off", Hint: "want on or off"}}
				}
				served = daemon.PageURL(c.ListenAddress, c.WebConfigFile)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), drainPatience)
			defer cancel()
			return drain(ctx, served)
		},
	}
}

// drain makes the prober that is served at a URL begin no more probes. The kubelet may
// run a hook twice, and a second call ends draining: then there is a third.
func drain(ctx context.Context, served string) error {
	u, err := url.Parse(served)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return config.Problems{{Place: "URL argument", Text: "not an http or https URL", Hint: "want the URL of a prober, for example http://127.0.0.1:9464"}}
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	ours := &tls.Config{InsecureSkipVerify: ip.IsLoopback()} //nolint:gosec // nobody stands between, and no certificate is for loopback
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: ours}}
	for range 2 {
		answer, err := post(ctx, client, u.JoinPath("/-/drain").String())
		if err != nil || answer == daemon.DrainBegun {
			return err
		}
	}
	return fmt.Errorf("%s does not drain", u.Redacted())
}

// post returns the answer to an empty POST.
func post(ctx context.Context, client *http.Client, to string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	answer := strings.TrimSpace(string(body))
	if err == nil && response.StatusCode != http.StatusOK {
		hint := ""
		if response.StatusCode == http.StatusNotFound {
			hint = "; the prober needs PROBER_DRAIN_ENDPOINT=on"
		}
		err = fmt.Errorf("POST %s: %s%s", r.URL.Redacted(), response.Status, hint)
	}
	return answer, err
}
