package engine

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// A fingerprint tells one content from another; zero: the file could not be read.
type fingerprint [sha256.Size]byte

// Assets are the files that the targets of one configuration name: books, data sets,
// certificates and keys. Each is read and parsed once, so that everything made of them
// agrees while they change. The methods are called by one goroutine.
type Assets struct {
	read         func(path string) ([]byte, error)
	contents     map[any]any            // by path, until Release
	fingerprints map[string]fingerprint // of contents, by path
	parsed       map[any]any            // see once
}

// NewAssets returns assets without any file. They are read by read.
func NewAssets(read func(path string) ([]byte, error)) *Assets {
	return &Assets{read: read, contents: map[any]any{}, fingerprints: map[string]fingerprint{}, parsed: map[any]any{}}
}

// Read returns the content of a file, which is read once.
func (a *Assets) Read(path string) ([]byte, error) {
	return once(a.contents, path, func() ([]byte, error) {
		data, err := a.read(path)
		a.fingerprints[path] = fingerprint{}
		if err == nil {
			a.fingerprints[path] = sha256.Sum256(data)
		}
		return data, err
	})
}

// Release drops the contents, after everything has been parsed.
func (a *Assets) Release() { clear(a.contents) }

// Validate parses the files of all targets. What is wrong with them is returned as
// [config.Problems].
func (a *Assets) Validate(targets []config.Target) error {
	var problems config.Problems
	check := func(t config.Target, err error, hint string) {
		if err != nil {
			problems = append(problems, config.Problem{Place: "target " + t.Name, Text: strings.ReplaceAll(err.Error(), "\n", "; "), Hint: hint})
		}
	}
	for _, t := range targets {
		_, err := promptOptions(t, a, 0)
		check(t, err, "see PROBER_BOOK_FILE and PROBER_DATASET_FILE")
		_, err = a.tls(t)
		check(t, err, "see PROBER_TARGETS_n_CA_FILE, _CERT_FILE and _KEY_FILE")
	}
	if problems != nil {
		return problems
	}
	return nil
}

// fingerprint is of the content of all files that targets name.
func (a *Assets) fingerprint(targets []config.Target) fingerprint {
	hash := sha256.New()
	for _, t := range targets {
		for _, path := range t.Files() {
			if _, known := a.fingerprints[path]; !known {
				_, _ = a.Read(path) // a file that cannot be read counts as empty
			}
			fmt.Fprintf(hash, "%q %x ", path, a.fingerprints[path])
		}
	}
	return fingerprint(hash.Sum(nil))
}

// book returns the passages of a book for prompts of a length in tokens.
func (a *Assets) book(path string, tokens int) ([]string, error) {
	type key struct {
		path   string
		tokens int
	}
	return once(a.parsed, key{path, tokens}, func() ([]string, error) {
		data, err := a.Read(path)
		if err != nil {
			return nil, err
		}
		return prompt.ParseBook(data, tokens)
	})
}

func (a *Assets) dataset(path string) ([][]wire.Turn, error) {
	return once(a.parsed, path, func() ([][]wire.Turn, error) {
		data, err := a.Read(path)
		if err != nil {
			return nil, err
		}
		return prompt.ParseDataset(data)
	})
}

// tls is how to speak TLS with t: by which authorities it is trusted, and as which client.
// It is shared by targets, and not to be changed.
func (a *Assets) tls(t config.Target) (*tls.Config, error) {
	type key struct {
		ca, cert, key string
		insecure      bool
	}
	return once(a.parsed, key{t.CAFile, t.CertFile, t.KeyFile, t.InsecureSkipVerify}, func() (*tls.Config, error) {
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
