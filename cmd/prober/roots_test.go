package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestPublicAuthoritiesAreTrustedWithoutASystem, and where the system has some,
// those alone are. Each case is a process: the system's are looked for once.
func TestPublicAuthoritiesAreTrustedWithoutASystem(t *testing.T) {
	if want := os.Getenv("PUBLIC_AUTHORITIES"); want != "" {
		if got := trustsThePublic(t); got != (want == "trusted") {
			t.Errorf("trusted: %t, want them %s", got, want)
		}
		return
	}
	own := writeFile(t, t.TempDir(), "own.crt", newAuthority(t).pem())
	for file, want := range map[string]string{"/nowhere": "trusted", own: "foreign"} {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$") //nolint:gosec // this test
		again.Env = append(os.Environ(), "SSL_CERT_FILE="+file, "SSL_CERT_DIR=/nowhere", "PUBLIC_AUTHORITIES="+want)
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("with the system's in %s: %v\n%s", file, err, out)
		}
	}
}

// trustsThePublic reports whether all authorities of the bundle without further
// conditions are trusted.
func trustsThePublic(t *testing.T) bool {
	t.Helper()
	trustThePublic()
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := certificate.Verify(x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Log(err)
			return false
		}
	}
	return true
}
