package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"os"
	"time"
)

// client returns a client of the API server, which trusts the certificate that
// the server makes for itself, as soon as that is there.
func (p *process) client(certificate string) (*http.Client, error) {
	roots := x509.NewCertPool()
	err := until("the certificate of "+p.name, func() bool {
		data, err := os.ReadFile(certificate)
		return p.ended() || err == nil && roots.AppendCertsFromPEM(data)
	})
	if p.ended() {
		err = errors.New(p.name + " has ended")
	}
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}, err
}

// writeKey writes a new key that signs the tokens of service accounts.
func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// freeAddress returns an address of the loopback where nothing listens.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // on the loopback it does not wait
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
