package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/usage"
)

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
