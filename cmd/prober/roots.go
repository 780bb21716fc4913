package main

import (
	"crypto/x509"
	"os"
	"slices"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// proxied reports whether there may be a proxy, which may want TLS as well.
func proxied() bool {
	return slices.ContainsFunc([]string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"}, func(name string) bool {
		return os.Getenv(name) != ""
	})
}

// trustThePublic makes the certificates of the public authorities count on a system that
// has none, as our image: https can be verified there too. Where the system has its own, or
// SSL_CERT_FILE names some, those count and these do not. It is called before the first use of
// TLS, and by nobody who uses none: they take half a megabyte.
var trustThePublic = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // the bundle's own tests parse them all
		}
		if root.Constraint == nil {
			pool.AddCert(certificate)
		} else {
			pool.AddCertWithConstraint(certificate, root.Constraint)
		}
	}
	x509.SetFallbackRoots(pool)
})
