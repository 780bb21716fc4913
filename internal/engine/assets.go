package engine

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/prompt"
)

// A fingerprint tells one content from another. It is zero for a file that could not
// be read.
type fingerprint [sha256.Size]byte

// Assets are the files that the targets of one configuration name: books, data sets,
// certificates and keys. Each is read and parsed once, so that everything made of them
// agrees while they change. The methods are called by one goroutine.
type Assets struct {
	read func(path string) ([]byte, error)

	contents     map[string]content     // by path, until Release
	fingerprints map[string]fingerprint // by path
	books        map[bookKey]parsed[book]
	datasets     map[string]parsed[[]prompt.Entry]
	clients      map[[3]string]parsed[*tls.Config] // by the paths of CA, certificate and key
}

type content struct {
	data []byte
	err  error
}

// A parsed value is what parsing a file gave.
type parsed[T any] struct {
	value T
	err   error
}

type bookKey struct {
	path   string
	tokens int
}

// A book is a text, and where its passages start.
type book struct {
	text     string
	passages []int
}

// NewAssets returns assets without any file. They are read by read.
func NewAssets(read func(path string) ([]byte, error)) *Assets {
	return &Assets{
		read: read, contents: map[string]content{}, fingerprints: map[string]fingerprint{},
		books: map[bookKey]parsed[book]{}, datasets: map[string]parsed[[]prompt.Entry]{}, clients: map[[3]string]parsed[*tls.Config]{},
	}
}

// Read returns the content of a file, which is read once.
func (a *Assets) Read(path string) ([]byte, error) {
	c, ok := a.contents[path]
	if !ok {
		c.data, c.err = a.read(path)
		a.contents[path] = c
		a.fingerprints[path] = fingerprint{}
		if c.err == nil {
			a.fingerprints[path] = sha256.Sum256(c.data)
		}
	}
	return c.data, c.err
}

// Release drops the contents: everything that was made of them has been parsed.
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
		for _, path := range []string{t.BookFile, t.DatasetFile, t.CAFile, t.CertFile, t.KeyFile} {
			if _, known := a.fingerprints[path]; path != "" && !known {
				_, _ = a.Read(path) // one that cannot be read is as good as empty
			}
			fmt.Fprintf(hash, "%q %x ", path, a.fingerprints[path])
		}
	}
	return fingerprint(hash.Sum(nil))
}

// book is a book for prompts of a length.
func (a *Assets) book(path string, tokens int) (book, error) {
	return once(a.books, bookKey{path, tokens}, func() (book, error) {
		data, err := a.Read(path)
		if err != nil {
			return book{}, err
		}
		text, err := prompt.ParseBook(data, tokens)
		return book{text, prompt.Passages(text, tokens)}, err
	})
}

func (a *Assets) dataset(path string) ([]prompt.Entry, error) {
	return once(a.datasets, path, func() ([]prompt.Entry, error) {
		data, err := a.Read(path)
		if err != nil {
			return nil, err
		}
		return prompt.ParseDataset(data)
	})
}

// tls is how to speak TLS with t: by which authorities it is trusted, and as which client.
func (a *Assets) tls(t config.Target) (*tls.Config, error) {
	shared, err := once(a.clients, [3]string{t.CAFile, t.CertFile, t.KeyFile}, func() (*tls.Config, error) {
		c := &tls.Config{}
		return c, errors.Join(a.trust(c, t.CAFile), a.identify(c, t.CertFile, t.KeyFile))
	})
	if err != nil {
		return nil, err
	}
	c := shared.Clone()
	c.InsecureSkipVerify = t.InsecureSkipVerify //nolint:gosec // the user asked for it, and is warned
	return c, nil
}

// trust makes c trust the authorities in a file, if there is one.
func (a *Assets) trust(c *tls.Config, ca string) error {
	if ca == "" {
		return nil
	}
	pem, err := a.Read(ca)
	if err != nil {
		return fmt.Errorf("read CA file: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("CA file %s holds no certificate in PEM", ca)
	}
	return nil
}

// identify makes c present the certificate in a file, if there is one.
func (a *Assets) identify(c *tls.Config, certificate, key string) error {
	if certificate == "" {
		return nil
	}
	public, err := a.Read(certificate)
	private, wrong := a.Read(key)
	if err := cmp.Or(err, wrong); err != nil {
		return fmt.Errorf("read client certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		return fmt.Errorf("client certificate %s with key %s: %w", certificate, key, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

// once is what parse returns, called once for a key.
func once[K comparable, T any](known map[K]parsed[T], key K, parse func() (T, error)) (T, error) {
	p, ok := known[key]
	if !ok {
		p.value, p.err = parse()
		known[key] = p
	}
	return p.value, p.err
}
