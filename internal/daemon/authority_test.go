package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
)

// An authority signs certificates of tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	from, to := recent()
	a.certificate = sign(t, &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: "authority"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, a.key, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func serial(t *testing.T) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sign makes a certificate of what is asked for, for key, by another one, or by itself if that is nil.
func sign(t *testing.T, asked, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	if by == nil {
		by = asked
	}
	raw, err := x509.CreateCertificate(rand.Reader, asked, by, key.Public(), byKey)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (a *authority) pem() string { return pemOf(a.certificate) }

func pemOf(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// issue writes a new certificate for loopback, of a server and a client, to name.crt, and its key to name.key.
func (a *authority) issue(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	from, to := recent()
	key := newKey(t)
	made := sign(t, &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.certificate, key, a.key)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, name+".crt", pemOf(made))
	writeFile(t, dir, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return made
}

// client trusts a, and shows a certificate that by signed; nil for none.
func (a *authority) client(t *testing.T, by *authority) *tls.Config {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AddCert(a.certificate)
	if by == nil {
		return config
	}
	dir := t.TempDir()
	by.issue(t, dir, "client")
	pair, err := tls.LoadX509KeyPair(dir+"/client.crt", dir+"/client.key")
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}
