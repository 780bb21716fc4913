package engine

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
	"strings"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// Files are the files that a configuration names, as one load of the configuration saw them. Each is read once, so that
// everything that is made of it agrees, even if the file changes meanwhile. [Files.Next] returns those for the next
// load, which takes over what was parsed of equal contents. The methods are called by one goroutine.
type Files struct {
	contents map[string]content     // by path: what was read
	looks    map[string]fingerprint // by path: before the file was read
	lastLook map[string]fingerprint // by path: at the last call of Changed
	pipes    map[string][]byte      // by path: what was read from pipes and devices, which can be read once
	reload   bool                   // this is not the first load

	parsed  parsedFiles // by this load
	inForce parsedFiles // by the last load whose configuration was put in force
}

// A content is what was read of a file, or why it could not be read.
type content struct {
	data []byte      // nil after Release
	hash fingerprint // of data
	err  error
}

// A fingerprint differs for different contents of a file. It is zero if the file could not be read.
type fingerprint [sha256.Size]byte

// parsedFiles are the results of parsing files, by the hashes of the contents.
type parsedFiles struct {
	dataSets map[fingerprint][][]wire.Turn
	tls      map[tlsContents]*tls.Config
}

// tlsContents identify what a TLS configuration is made of. The hash of a file that is not named is zero.
type tlsContents struct {
	authorities, certificate, key fingerprint
	insecure                      bool
}

// newParsedFiles returns an empty set.
func newParsedFiles() parsedFiles {
	return parsedFiles{dataSets: map[fingerprint][][]wire.Turn{}, tls: map[tlsContents]*tls.Config{}}
}

// NewFiles returns the files of a first load. None is read yet.
func NewFiles() *Files {
	return &Files{
		contents: map[string]content{}, looks: map[string]fingerprint{}, pipes: map[string][]byte{},
		parsed: newParsedFiles(),
	}
}

// Next returns the files for the next load, which reads them again, except for pipes: reading them again could block,
// and what was read from them does not come twice.
func (f *Files) Next() *Files {
	next := NewFiles()
	next.lastLook, next.pipes, next.reload = f.lastLook, f.pipes, true
	next.inForce = f.inForce
	return next
}

// Keep says that the configuration of this load is in force: later loads take over what it parsed, and what only
// earlier loads parsed is forgotten.
func (f *Files) Keep() { f.inForce = f.parsed }

// Release drops the contents, after everything has been parsed.
func (f *Files) Release() {
	for path, c := range f.contents {
		c.data = nil
		f.contents[path] = c
	}
}

// Read returns the content of a file, until Release.
func (f *Files) Read(path string) ([]byte, error) {
	c := f.content(path)
	return c.data, c.err
}

// content returns what was read of a file. It reads the file if this load did not.
func (f *Files) content(path string) content {
	if c, ok := f.contents[path]; ok {
		return c
	}
	var c content
	f.looks[path] = look(path) // before the file is read, so that Changed notices a change meanwhile
	if f.looks[path] == pipe {
		c.data, c.err = f.readPipe(path)
	} else {
		c.data, c.err = config.ReadFile(path)
	}
	if c.err == nil {
		c.hash = sha256.Sum256(c.data)
	}
	f.contents[path] = c
	return c
}

// readPipe returns what was read from a pipe or a device the first time.
func (f *Files) readPipe(path string) ([]byte, error) {
	if data, ok := f.pipes[path]; ok {
		return data, nil
	}
	if f.reload {
		return nil, errors.New("is not a regular file, and others are read only at the start")
	}
	data, err := config.ReadFile(path)
	if err == nil {
		f.pipes[path] = data
	}
	return data, err
}

// Changed returns the files, sorted, whose contents are no longer what was read from them. It returns none until two
// calls have found the same: a file may be half written, or away while it is replaced. Links are followed again,
// because Kubernetes mounts a ConfigMap or a Secret as links into a directory that is replaced as a whole.
func (f *Files) Changed() []string {
	now := make(map[string]fingerprint, len(f.looks))
	for path := range f.looks {
		now[path] = look(path)
	}
	settled := maps.Equal(now, f.lastLook)
	f.lastLook = now
	if !settled {
		return nil
	}
	isSame := func(path string) bool { return now[path] == f.looks[path] }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(now)), isSame)
}

// large is the size in bytes from which a fingerprint is made of the size and the time of the file instead of its
// contents: reading a large data set often would disturb the measurement.
const large = 1 << 20

// pipe is the fingerprint of every pipe and device, which must not be read only to look at them.
var pipe = fingerprint{1}

// look returns the present fingerprint of a file. It reads small files, and no pipes.
func look(path string) fingerprint {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir():
		return fingerprint{}
	case !info.Mode().IsRegular():
		return pipe
	case info.Size() >= large:
		return sha256.Sum256(fmt.Appendf(nil, "%d bytes of %d", info.Size(), info.ModTime().UnixNano()))
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return fingerprint{}
	}
	return sha256.Sum256(data)
}

// Check parses the files of targets, and returns the targets that cannot be probed because of what is in their files.
func (f *Files) Check(targets []config.Target) (rejected []config.Rejected) {
	for _, t := range targets {
		var problems usage.Problems
		add := func(err error, hint string) {
			if err != nil {
				problems.Add("target "+t.Name, strings.ReplaceAll(err.Error(), "\n", "; "), hint)
			}
		}
		_, err := promptOptions(t, f, 0)
		add(err, "see PROBER_DATASET_FILE")
		_, err = f.tlsOf(t)
		add(err, "see PROBER_TARGETS_n_CA_FILE, _CERT_FILE and _KEY_FILE")
		if problems != nil {
			rejected = append(rejected, config.Rejected{Name: t.Name, Labels: t.Labels, Problems: problems})
		}
	}
	return rejected
}

// hashesOf returns the hashes of the files that t names, in the order of [config.Target.Files].
func (f *Files) hashesOf(t config.Target) []fingerprint {
	var hashes []fingerprint
	for _, path := range t.Files() {
		hashes = append(hashes, f.content(path).hash)
	}
	return hashes
}

// dataSet returns the conversations of a data set file. They are shared, and must not be changed.
func (f *Files) dataSet(path string) ([][]wire.Turn, error) {
	c := f.content(path)
	if c.err != nil {
		return nil, c.err
	}
	parse := func() ([][]wire.Turn, error) { return prompt.ParseDataset(c.data) }
	return parseOnce(f.parsed.dataSets, f.inForce.dataSets, c.hash, parse)
}

// tlsOf returns the TLS configuration for t: the trusted authorities and the client's certificate. It is shared, and
// must not be changed.
func (f *Files) tlsOf(t config.Target) (*tls.Config, error) {
	var authorities, certificate, key content
	if t.CAFile != "" {
		authorities = f.content(t.CAFile)
	}
	if t.CertFile != "" {
		certificate, key = f.content(t.CertFile), f.content(t.KeyFile)
	}
	if authorities.err != nil {
		return nil, fmt.Errorf("read CA file: %w", authorities.err)
	}
	if err := cmp.Or(certificate.err, key.err); err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	of := tlsContents{authorities.hash, certificate.hash, key.hash, t.InsecureSkipVerify}
	return parseOnce(f.parsed.tls, f.inForce.tls, of, func() (*tls.Config, error) {
		c := &tls.Config{InsecureSkipVerify: t.InsecureSkipVerify} //nolint:gosec // the user asked for it, and is warned
		if t.CAFile != "" {
			c.RootCAs = x509.NewCertPool()
			if !c.RootCAs.AppendCertsFromPEM(authorities.data) {
				return nil, fmt.Errorf("CA file %s holds no certificate in PEM", t.CAFile)
			}
		}
		if t.CertFile != "" {
			pair, err := tls.X509KeyPair(certificate.data, key.data)
			if err != nil {
				return nil, fmt.Errorf("client certificate %s with key %s: %w", t.CertFile, t.KeyFile, err)
			}
			c.Certificates = []tls.Certificate{pair}
		}
		return c, nil
	})
}

// parseOnce returns the value for a key from own, else from earlier, else from parse. It keeps the value in own.
func parseOnce[K comparable, V any](own, earlier map[K]V, key K, parse func() (V, error)) (V, error) {
	if value, ok := own[key]; ok {
		return value, nil
	}
	value, ok := earlier[key]
	if !ok {
		var err error
		value, err = parse()
		if err != nil {
			return value, err
		}
	}
	own[key] = value
	return value, nil
}
