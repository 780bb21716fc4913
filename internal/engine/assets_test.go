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

// TestFilesAreHashedOnce holds that what a file holds is read, hashed and cut into passages once for all groups that
// name it, and that what was parsed of it serves after it is gone.
func TestFilesAreHashedOnce(t *testing.T) {
	certificate, key := pair(t)
	files := map[string][]byte{"book": []byte("the first book"), "client.crt": certificate, "client.key": key}
	target := config.Target{Settings: config.Settings{QPS: 1, Prompt: "book", PromptTokens: 3, BookFile: "book"}, API: "auto", Server: "auto", CertFile: "client.crt", KeyFile: "client.key"}
	a := NewAssets(func(path string) ([]byte, error) {
		data, ok := files[path]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return data, nil
	})
	read := func() *Job {
		t.Helper()
		jobs, err := Assemble([]config.Target{target}, a, nil, "test")
		if err != nil || jobs[0].Prompts.Book[0] != "the first book" {
			t.Fatal(err)
		}
		return jobs[0]
	}
	first := read()
	a.Release()
	clear(files)
	if again := read(); !again.same(first) || &again.Prompts.Book[0] != &first.Prompts.Book[0] {
		t.Error("another content, or other passages")
	}
}
