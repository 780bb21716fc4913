package main

// The certificates of the public authorities, for a system that has none, as our
// image: https targets can be verified there too. Where the system has its own,
// or SSL_CERT_FILE names some, those count and these do not.
import _ "golang.org/x/crypto/x509roots/fallback"
