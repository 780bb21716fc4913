package daemon

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"testing"
	"time"
)

// An authority signs certificates of tests.
type authority struct {
	certificate *x509.Certificate
	key         ed25519.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.certificate, a.key = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign makes what is asked for, which a test does not outlive, and its key. The first certificate signs itself.
func (a *authority) sign(t *testing.T, asked *x509.Certificate) (*x509.Certificate, ed25519.PrivateKey) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	asked.NotBefore, asked.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	by, byKey := a.certificate, a.key
	if by == nil {
		by, byKey = asked, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, asked, by, public, byKey)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

// pair is a new certificate for loopback, of a server and a client.
func (a *authority) pair(t *testing.T) tls.Certificate {
	t.Helper()
	made, key := a.sign(t, &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return tls.Certificate{Certificate: [][]byte{made.Raw}, PrivateKey: key, Leaf: made}
}

// issue writes a new pair to name.crt and name.key.
func (a *authority) issue(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	made := a.pair(t)
	secret, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, name+".crt", inPEM("CERTIFICATE", made.Leaf.Raw))
	writeFile(t, dir, name+".key", inPEM("PRIVATE KEY", secret))
	return made.Leaf
}

func (a *authority) pem() string { return inPEM("CERTIFICATE", a.certificate.Raw) }

func inPEM(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

// pool trusts a.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}
