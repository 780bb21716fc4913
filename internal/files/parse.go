package files

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// Check parses the files of targets, and returns the targets that cannot be probed because a file is invalid or cannot
// be read. It says nothing of a file that does not exist: whether it has to, [config.Load] knows.
func (f *Files) Check(targets []config.Target) (rejected []config.Rejected) {
	for _, t := range targets {
		var problems usage.Problems
		add := func(err error, hint string) {
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				problems.Add("target "+t.Name, strings.ReplaceAll(err.Error(), "\n", "; "), hint)
			}
		}
		i := slices.IndexFunc(t.Prompts, func(p config.Prompt) bool { return p.Workload == string(prompt.Dataset) })
		if i >= 0 {
			_, err := f.DataSet(t.OfPrompt(i))
			add(err, "see "+t.Places["dataset_file"])
		}
		_, err := f.TLS(t)
		add(err, "see "+strings.Join([]string{t.Places["ca_file"], t.Places["cert_file"], t.Places["key_file"]}, ", "))
		if problems != nil {
			rejected = append(rejected, config.Rejected{Name: t.Name, Labels: t.Labels, Problems: problems})
		}
	}
	return rejected
}

// DataSet returns the conversations of the data set of t, which has one prompt; none if that is something else. They
// are shared by all targets with a data set of this content, and must not be changed.
func (f *Files) DataSet(t config.Target) ([][]wire.Turn, error) {
	if t.Prompt != string(prompt.Dataset) {
		return nil, nil
	}
	c := f.content(t.DatasetFile)
	if c.err != nil {
		return nil, fmt.Errorf("data set file %s: %w", t.DatasetFile, c.err)
	}
	set, ok := f.dataSets[c.hash]
	if !ok {
		set, ok = f.inForce[c.hash]
	}
	if !ok {
		var err error
		set, err = prompt.ParseDataset(c.data)
		if err != nil {
			return nil, fmt.Errorf("data set file %s: %w", t.DatasetFile, err)
		}
	}
	f.dataSets[c.hash] = set
	return set, nil
}

// tlsFiles are the files that a TLS configuration is made of. The hash of a file that is not named is zero.
type tlsFiles struct {
	authorities, certificate, key Hash
	insecure                      bool
}

// TLS returns the TLS configuration for t: the trusted authorities and the client's certificate. It is shared by all
// targets with files of these contents, and must not be changed.
func (f *Files) TLS(t config.Target) (*tls.Config, error) {
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
	err := cmp.Or(certificate.err, key.err)
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	from := tlsFiles{authorities.hash, certificate.hash, key.hash, t.InsecureSkipVerify}
	known, ok := f.tls[from]
	if ok {
		return known, nil
	}
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
	f.tls[from] = c
	return c, nil
}

// TokenTLS returns the TLS configuration for the token server of t: it trusts the authorities of the system and those
// of the target's CA file, because public and private servers may issue tokens for the same target. Nothing else of the
// target's TLS holds for it: an unverified server would get the client's secret. It is nil without a CA file.
func (f *Files) TokenTLS(t config.Target) (*tls.Config, error) {
	if t.CAFile == "" {
		return nil, nil
	}
	authorities := f.content(t.CAFile)
	if authorities.err != nil {
		return nil, fmt.Errorf("read CA file: %w", authorities.err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the authorities of the system: %w", err)
	}
	pool.AppendCertsFromPEM(authorities.data) // TLS says whether it holds a certificate
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
}
