package main

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/prompt"
)

// A sum tells one content of a file from another. It is zero if the file could
// not be read.
type sum [sha256.Size]byte

// A reading is the files from which a configuration was read. Each is read once,
// so that all that is made of them agrees while they change. A nil reading
// remembers nothing. Its methods are called by one goroutine.
type reading struct {
	held  map[string]sum    // what tells whether they changed, by path
	sums  map[string]sum    // of their whole contents, by path
	data  map[string][]byte // their contents, until settled
	pipes map[string][]byte // what came out of pipes and devices, which give it once
	again bool              // after the start nobody waits for what a pipe may hold

	// What was parsed of them, which new targets of the same configuration share.
	books    map[string]func() (book, error)           // by length and path
	sets     map[string]func() ([]prompt.Entry, error) // by path
	security map[string]func() (*tls.Config, error)    // by the paths of certificates and key
}

func newReading() *reading {
	return &reading{
		held: map[string]sum{}, sums: map[string]sum{}, data: map[string][]byte{}, pipes: map[string][]byte{},
		books: map[string]func() (book, error){}, sets: map[string]func() ([]prompt.Entry, error){},
		security: map[string]func() (*tls.Config, error){},
	}
}

// anew returns a reading of files as they are by now, but for pipes: they stay as
// they were read.
func (r *reading) anew() *reading {
	next := newReading()
	if next.again = true; r != nil {
		maps.Copy(next.pipes, r.pipes)
	}
	return next
}

// settle forgets contents: what they were read for has been parsed.
func (r *reading) settle() {
	if r != nil {
		clear(r.data)
	}
}

// reject forgets what was parsed as well: nothing will be made of it.
func (r *reading) reject() {
	clear(r.books)
	clear(r.sets)
	clear(r.security)
}

// read is [config.ReadFile], once a path, and notes what it read.
func (r *reading) read(path string) ([]byte, error) {
	if r == nil {
		return config.ReadFile(path)
	}
	if data, ok := r.data[path]; ok {
		return data, nil
	}
	whole, ok := unread(path) // before it is read: what changes meanwhile is read again
	piped := pipe(path)
	data, kept := r.pipes[path]
	var err error
	switch {
	case piped && kept:
	case piped && r.again:
		err = config.ErrPipe
	default:
		data, err = config.ReadFile(path)
	}
	r.sums[path] = sumOf(data, err)
	if !ok {
		whole = r.sums[path]
	}
	r.held[path] = whole
	if err == nil {
		r.data[path] = data
		if piped {
			r.pipes[path] = data
		}
	}
	return data, err
}

// sum tells the content of a file from any other. It is read and hashed once,
// however many targets name it.
func (r *reading) sum(path string) sum {
	if r == nil {
		return sumOf(r.read(path))
	}
	if _, ok := r.sums[path]; !ok {
		_, _ = r.read(path) // one that cannot be read is as good as empty
	}
	return r.sums[path]
}

// A book is a text, and where its passages start.
type book struct {
	text     string
	passages []int
}

// book is a book for prompts of a length, parsed once for all that ask from it.
func (r *reading) book(path string, tokens int) (text string, passages []int, err error) {
	parse := func() (book, error) {
		data, err := r.read(path)
		if err != nil {
			return book{}, err
		}
		text, err := prompt.ParseBook(data, tokens)
		return book{text, prompt.Passages(text, tokens)}, err
	}
	var b book
	if r == nil {
		b, err = parse()
	} else {
		b, err = onceFor(r.books, fmt.Sprint(tokens, " ", path), parse)
	}
	return b.text, b.passages, err
}

// dataset is the same of a data set.
func (r *reading) dataset(path string) ([]prompt.Entry, error) {
	parse := func() ([]prompt.Entry, error) {
		data, err := r.read(path)
		if err != nil {
			return nil, err
		}
		return prompt.ParseDataset(data)
	}
	if r == nil {
		return parse()
	}
	return onceFor(r.sets, path, parse)
}

// tls is how to speak TLS with a server: by which authorities it is trusted, and as
// which client.
func (r *reading) tls(ca, certificate, key string) (*tls.Config, error) {
	parse := func() (*tls.Config, error) {
		c := &tls.Config{}
		if err := errors.Join(r.trust(c, ca), r.identify(c, certificate, key)); err != nil {
			return nil, err
		}
		return c, nil
	}
	if r == nil {
		return parse()
	}
	return onceFor(r.security, fmt.Sprintf("%q", []string{ca, certificate, key}), parse)
}

// trust makes c trust the authorities in a file, if there is one.
func (r *reading) trust(c *tls.Config, ca string) error {
	if ca == "" {
		return nil
	}
	pem, err := r.read(ca)
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
func (r *reading) identify(c *tls.Config, certificate, key string) error {
	if certificate == "" {
		return nil
	}
	public, err := r.read(certificate)
	private, wrong := r.read(key)
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

// onceFor is parse, called once for a key.
func onceFor[T any](parsed map[string]func() (T, error), key string, parse func() (T, error)) (T, error) {
	if parsed[key] == nil {
		parsed[key] = sync.OnceValues(parse)
	}
	return parsed[key]()
}

// now is what the same files hold by now, by path. A path is followed anew: where
// Kubernetes mounts a ConfigMap or a Secret it leads through a link to a
// directory, which is replaced as a whole.
func (r *reading) now() map[string]sum {
	now := make(map[string]sum, len(r.held))
	for path := range r.held {
		whole, ok := unread(path)
		if !ok {
			whole = sumOf(config.ReadFile(path))
		}
		now[path] = whole
	}
	return now
}

// differs returns the paths whose content is another one in now, sorted.
func (r *reading) differs(now map[string]sum) []string {
	var paths []string
	for path, content := range r.held {
		if now[path] != content {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// sumOf is the sum of what was read.
func sumOf(data []byte, err error) sum {
	if err != nil {
		return sum{}
	}
	return sha256.Sum256(data)
}

// large is the size in bytes from which on files are told apart by size and time:
// reading a book every few seconds would disturb the measurement.
const large = 1 << 20

// unread is the sum of a file that is not read again to tell whether it changed;
// ok is false if it is to be read. What is no regular file is always the same:
// reading a pipe would take away what somebody else is to read.
func unread(path string) (whole sum, ok bool) {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular() && info.Size() < large:
		return sum{}, false
	case !info.Mode().IsRegular():
		return sum{1}, true
	}
	return sha256.Sum256(fmt.Appendf(nil, "%d bytes of %d", info.Size(), info.ModTime().UnixNano())), true
}

// pipe reports whether a file is a pipe or a device. A directory is none: that it
// cannot be read says enough.
func pipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}
