package probe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"
)

// chainExpiry returns when a server's certificates expire: the first of the verified chain that lives longest, which is
// when clients begin to fail (blackbox_exporter has the same rule). A server may send other certificates as well, such
// as a cross-signed one that has expired. They do not count. Without verification, the first certificate to expire of
// all that were sent counts.
func chainExpiry(state tls.ConnectionState) time.Time {
	if len(state.VerifiedChains) == 0 {
		return firstExpiry(state.PeerCertificates)
	}
	var longest time.Time
	for _, chain := range state.VerifiedChains {
		end := firstExpiry(chain)
		if end.After(longest) {
			longest = end
		}
	}
	return longest
}

// firstExpiry returns when the first of some certificates expires; zero if there are none.
func firstExpiry(certificates []*x509.Certificate) time.Time {
	var first time.Time
	for _, c := range certificates {
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}

// refusedExpiry returns when the certificate expires that a verification refused; zero if err is about none.
func refusedExpiry(err error) time.Time {
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	unknown, isUnknown := errors.AsType[x509.UnknownAuthorityError](err)
	other, isOther := errors.AsType[x509.HostnameError](err)
	unverified, isUnverified := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isInvalid && invalid.Cert != nil:
		return invalid.Cert.NotAfter
	case isUnknown && unknown.Cert != nil:
		return unknown.Cert.NotAfter
	case isOther && other.Certificate != nil:
		return other.Certificate.NotAfter
	case isUnverified:
		return firstExpiry(unverified.UnverifiedCertificates)
	}
	return time.Time{}
}
