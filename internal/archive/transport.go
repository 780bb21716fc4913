package archive

import (
	"errors"
	"io"
	"net/http"
	"net/url"
)

// mostBytes bounds one answer, which the client holds as a whole.
const mostBytes = 256 << 20

// errTooLong says that an answer is longer than it may be.
var errTooLong = errors.New("the answer is longer than 256 MiB")

// A transport sends the token to the host of base and nowhere else, and ends
// answers that are too long.
type transport struct {
	token string
	base  *url.URL
	most  int64 // bytes of an answer
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" && r.URL.Host == t.base.Host && r.URL.Scheme == t.base.Scheme {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{ReadCloser: response.Body, left: t.most}
	return response, nil
}

// redirected refuses to go elsewhere: what was asked would be lost on the way.
func redirected(r *http.Request, _ []*http.Request) error {
	return errors.New("it redirects to " + (&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path}).String() +
		": give the URL of the Prometheus itself")
}

// A bounded body fails when it is longer than it may be.
type bounded struct {
	io.ReadCloser

	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}
