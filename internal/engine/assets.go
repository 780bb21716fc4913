package engine

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/usage"
)

// Assets are the files that a configuration names: data sets, certificates and keys. Each is read and parsed
// once, so that everything made of them agrees while they change. The methods are called by one goroutine.
type Assets struct {
	read     func(path string) ([]byte, error)
	contents map[any]any                  // by path, until Release; see once
	hashes   map[string][sha256.Size]byte // of the contents, by path; none of a file that could not be read
	parsed   map[any]any                  // see once
}

// NewAssets returns assets without any file. They are read by read.
func NewAssets(read func(path string) ([]byte, error)) *Assets {
	return &Assets{read: read, contents: map[any]any{}, hashes: map[string][sha256.Size]byte{}, parsed: map[any]any{}}
}

// Read returns the content of a file, which is read once.
func (a *Assets) Read(path string) ([]byte, error) {
	return once(a.contents, path, func() ([]byte, error) {
		data, err := a.read(path)
		if err == nil {
			a.hashes[path] = sha256.Sum256(data)
		}
		return data, err
	})
}

// Release drops the contents, after everything has been parsed.
func (a *Assets) Release() { clear(a.contents) }

// Validate parses the files of all targets, and returns what is wrong with them.
func (a *Assets) Validate(targets []config.Target) (problems usage.Problems) {
	check := func(t config.Target, err error, hint string) {
		if err != nil {
			problems.Add("target "+t.Name, strings.ReplaceAll(err.Error(), "\n", "; "), hint)
		}
	}
	for _, t := range targets {
		_, err := promptOptions(t, a, 0)
		check(t, err, "see PROBER_DATASET_FILE")
		_, err = a.tls(t)
		check(t, err, "see PROBER_TARGETS_n_CA_FILE, _CERT_FILE and _KEY_FILE")
	}
	return problems
}

// parsed returns what parse makes of a file, which it does once.
func parsed[T any](a *Assets, path string, parse func([]byte) (T, error)) (T, error) {
	return once(a.parsed, path, func() (value T, err error) {
		data, err := a.Read(path)
		if err == nil {
			value, err = parse(data)
		}
		return value, err
	})
}

// tls is how to speak TLS with t: which authorities are trusted, and as which client. It is shared, and only read.
func (a *Assets) tls(t config.Target) (*tls.Config, error) {
	return once(a.parsed, [4]any{t.CAFile, t.CertFile, t.KeyFile, t.InsecureSkipVerify}, func() (*tls.Config, error) {
		c := &tls.Config{InsecureSkipVerify: t.InsecureSkipVerify} //nolint:gosec // the user asked for it, and is warned
		if t.CAFile != "" {
			pem, err := a.Read(t.CAFile)
			if err != nil {
				return nil, fmt.Errorf("read CA file: %w", err)
			}
			c.RootCAs = x509.NewCertPool()
			if !c.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("CA file %s holds no certificate in PEM", t.CAFile)
			}
		}
		if t.CertFile != "" {
			certificate, err := a.Read(t.CertFile)
			key, wrong := a.Read(t.KeyFile)
			if err := cmp.Or(err, wrong); err != nil {
				return nil, fmt.Errorf("read client certificate: %w", err)
			}
			pair, err := tls.X509KeyPair(certificate, key)
			if err != nil {
				return nil, fmt.Errorf("client certificate %s with key %s: %w", t.CertFile, t.KeyFile, err)
			}
			c.Certificates = []tls.Certificate{pair}
		}
		return c, nil
	})
}

// once returns what get returns, which it calls once for each key.
func once[T any](known map[any]any, key any, get func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	r, ok := known[key].(result)
	if !ok {
		r.value, r.err = get()
		known[key] = r
	}
	return r.value, r.err
}
