package engine

import (
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/llm-prober/prober/internal/config"
)

// pair is a certificate and its key in PEM.
func pair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	of := server.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(of.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: of.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// TestFilesAreHashedOnce holds that what a file holds is read, hashed and cut into
// passages once for all groups that name it, and that what was parsed of it serves after it is gone.
func TestFilesAreHashedOnce(t *testing.T) {
	certificate, key := pair(t)
	files := map[string][]byte{"book": []byte("the first book"), "client.crt": certificate, "client.key": key}
	target := config.Target{Settings: config.Settings{Prompt: "book", PromptTokens: 3, BookFile: "book"}, CertFile: "client.crt", KeyFile: "client.key"}
	a := NewAssets(func(path string) ([]byte, error) {
		data, ok := files[path]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return data, nil
	})
	read := func() (*string, fingerprint) {
		t.Helper()
		prompts, err := promptOptions(target, a, 0)
		security, wrong := a.tls(target)
		if err != nil || wrong != nil || len(security.Certificates) != 1 || prompts.Book[0] != "the first book" {
			t.Fatal(err, wrong)
		}
		return &prompts.Book[0], a.fingerprint([]config.Target{target})
	}
	passages, content := read()
	a.Release()
	clear(files)
	if again, same := read(); again != passages || same != content {
		t.Errorf("the same passages: %v, the same content: %v", again == passages, same == content)
	}
}
